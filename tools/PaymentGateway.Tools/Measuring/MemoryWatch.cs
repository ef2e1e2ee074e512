namespace PaymentGateway.Tools.Measuring;

/// <summary>Looks at a side's memory every two seconds and keeps the peaks.</summary>
internal sealed class MemoryWatch : IAsyncDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);
    private readonly CancellationTokenSource _stop = new();
    private readonly Side _side;
    private readonly Task _watching;
    private MemoryUse _peak;

    public MemoryWatch(Side side)
    {
        _side = side;
        _watching = Task.Run(WatchAsync);
    }

    /// <summary>The peaks, with a last look.</summary>
    public async Task<MemoryUse> StopAsync()
    {
        await _stop.CancelAsync();
        await _watching;
        return _peak.Peak(_side.Meter.Memory());
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _watching;
        _stop.Dispose();
    }

    private async Task WatchAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            _peak = _peak.Peak(_side.Meter.Memory());
            await Task.Delay(Interval, _stop.Token).ContinueWith(_ => { }, TaskScheduler.Default);
        }
    }
}

namespace PaymentGateway.Tools.Measuring;

/// <summary>Looks at a side's memory every two seconds and keeps the peaks.</summary>
internal sealed class MemoryWatch : IAsyncDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);
    private readonly CancellationTokenSource stop = new();
    private readonly Side side;
    private readonly Task watching;
    private MemoryUse peak;

    public MemoryWatch(Side side)
    {
        this.side = side;
        watching = Task.Run(WatchAsync);
    }

    /// <summary>The peaks, with a last look.</summary>
    public async Task<MemoryUse> StopAsync()
    {
        await stop.CancelAsync();
        await watching;
        return peak.Peak(side.Meter.Memory());
    }

    public async ValueTask DisposeAsync()
    {
        await stop.CancelAsync();
        await watching;
        stop.Dispose();
    }

    private async Task WatchAsync()
    {
        while (!stop.IsCancellationRequested)
        {
            peak = peak.Peak(side.Meter.Memory());
            await Task.Delay(Interval, stop.Token).ContinueWith(_ => { }, TaskScheduler.Default);
        }
    }
}

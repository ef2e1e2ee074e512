using PaymentGateway.Tools.Measuring.Load;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Payments at a fixed rate beside what is measured, until they are ended.</summary>
internal sealed class BackgroundLoad : IAsyncDisposable
{
    private readonly CancellationTokenSource _end;
    private readonly Task<LoadResult> _load;

    public BackgroundLoad(Side side, int perSecond, int secondsMost, CancellationToken cancellation)
    {
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        _load = FixedRate.RunAsync(side.Url, perSecond, secondsMost, new PaymentCall(), _end.Token);
    }

    /// <summary>When its time is over.</summary>
    public Task<LoadResult> Result => _load;

    public async Task<LoadResult> EndAsync()
    {
        await _end.CancelAsync();
        return await _load;
    }

    public async ValueTask DisposeAsync()
    {
        await EndAsync();
        _end.Dispose();
    }
}

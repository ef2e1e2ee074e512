using PaymentGateway.Tools.Measuring.Load;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Payments at a fixed rate beside what is measured, until they are ended.</summary>
internal sealed class BackgroundLoad : IAsyncDisposable
{
    private readonly CancellationTokenSource end;
    private readonly Task<LoadResult> load;

    public BackgroundLoad(Side side, int perSecond, int secondsMost, CancellationToken cancellation)
    {
        end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        load = FixedRate.RunAsync(side.Url, perSecond, secondsMost, new PaymentCall(), end.Token);
    }

    /// <summary>When its time is over.</summary>
    public Task<LoadResult> Result => load;

    public async Task<LoadResult> EndAsync()
    {
        await end.CancelAsync();
        return await load;
    }

    public async ValueTask DisposeAsync()
    {
        await EndAsync();
        end.Dispose();
    }
}

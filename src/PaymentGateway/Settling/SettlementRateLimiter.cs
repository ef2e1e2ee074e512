namespace PaymentGateway.Settling;

/// <summary>
/// Spreads the charges of a drain over time, so that it leaves CPU for acceptances on the same fraction of a core.
/// One thread at a time.
/// </summary>
/// <remarks>TokenBucketRateLimiter works at rest too (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class SettlementRateLimiter(TimeProvider clock, int perSecond)
{
    private static readonly TimeSpan Slice = TimeSpan.FromMilliseconds(10);

    private readonly int _perSlice = Math.Max(1, (int)(perSecond * Slice.TotalSeconds));
    private long _sliceSince;
    private int _left;

    /// <summary>Ends at once while the slice has permits left.</summary>
    public ValueTask AcquireAsync(CancellationToken cancellation)
    {
        var elapsed = clock.GetElapsedTime(_sliceSince);
        if (elapsed >= Slice)
        {
            _sliceSince = clock.GetTimestamp();
            _left = _perSlice;
        }

        return _left-- > 0 ? ValueTask.CompletedTask : SleepAsync(Slice - elapsed, cancellation);
    }

    private async ValueTask SleepAsync(TimeSpan rest, CancellationToken cancellation)
    {
        await Task.Delay(rest, clock, cancellation);
        // A delay is cut to whole milliseconds and ends early, so the next slice begins at the end of the last one.
        _sliceSince += clock.TicksOf(Slice);
        _left = _perSlice - 1;
    }
}

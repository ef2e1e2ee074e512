namespace PaymentGateway.Charging;

/// <summary>
/// Limits calls per second, so that a backlog or a reconciliation leaves CPU for acceptances. One thread at a time.
/// </summary>
/// <remarks>TokenBucketRateLimiter uses CPU even when idle (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class SettlementRateLimiter(TimeProvider clock, int perSecond)
{
    private static readonly TimeSpan Slice = TimeSpan.FromMilliseconds(10);

    private readonly int _perSlice = Math.Max(1, (int)(perSecond * Slice.TotalSeconds));
    private long _sliceSince;
    private int _left;

    /// <summary>Completes at once while the slice has permits left.</summary>
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
        // Task.Delay cuts to whole milliseconds and ends early, so the next slice begins where the last one ends.
        _sliceSince += clock.TicksOf(Slice);
        _left = _perSlice - 1;
    }
}

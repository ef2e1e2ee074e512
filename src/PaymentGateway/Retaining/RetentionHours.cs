using PaymentGateway.Storage;

namespace PaymentGateway.Retaining;

/// <summary>
/// Counts the hours that pass, over all instances and their restarts, by monotonic clocks alone: a payment is old by
/// these, whatever the wall clocks do. Not safe for two callers at once.
/// </summary>
internal sealed class RetentionHours(RetentionStore store, TimeProvider clock)
{
    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    private long _newest;
    private long _seenAt;

    /// <summary>To be called much more often than once a minute.</summary>
    /// <returns>Since when all settled payments are kept, where that is news; else null.</returns>
    public async Task<KeptRow?> CountAsync(TimeSpan retention)
    {
        var now = clock.GetUtcNow().UtcDateTime;
        var newest = await store.ObserveAsync(new ClockArgs(now));
        // Seen as the newest for a whole hour, so whoever began it did so before that.
        if (newest == 0 || (newest == _newest && clock.GetElapsedTime(_seenAt) >= Hour))
            await store.BeginAsync(new HourArgs(++newest, now));
        if (newest == _newest)
            return null;

        var kept = await store.AdvanceAsync(KeptArgs.Of(retention));
        (_newest, _seenAt) = (newest, clock.GetTimestamp());
        return kept;
    }
}

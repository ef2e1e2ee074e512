using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Notices that the ledger was purged by some instance, or emptied by a crash of the database.</summary>
internal sealed partial class LedgerWatch(
    LedgerStateStore ledger, PaymentStore payments, Lease lease, UnsettledPayments unsettled, ILogger<LedgerWatch> log)
{
    private const int PageMax = 1_000;

    private LedgerState? _known;
    private volatile LedgerState? _latest;

    /// <summary>
    /// UTC; when a crash of the database emptied the ledger, until a purge begins a new one. Any thread may ask.
    /// </summary>
    public DateTime? ResetAt => _latest?.ResetAt;

    /// <summary>Handles what changed; to be called in turn with the renewals.</summary>
    /// <param name="state">As the renewal found them.</param>
    public async Task CheckAsync(LedgerState state)
    {
        if (!state.Intact)
        {
            await ledger.MarkResetAsync();
            state = await ledger.StateAsync();
            Log.LedgerReset(log, state.ResetAt);
        }

        _latest = state;
        // A purge since the crash has begun a new ledger: there is nothing to save for it.
        if (_known is { } before && before.Resets != state.Resets && state.ResetAt is not null)
            await StoreAgainAsync();
        else if (_known is not null && _known.Generation != state.Generation)
            await MarkPurgedAsync();
        _known = state;
    }

    // The database crashed and its unlogged tables are empty: what is still in memory is saved. What was accepted again
    // meanwhile, here or by another instance, is that acceptance's, and is dropped here.
    private async Task StoreAgainAsync()
    {
        var epoch = lease.Epoch;
        var mine = unsettled.Snapshot().Where(payment => payment.Epoch == epoch).OrderBy(payment => payment.Id)
            .ToList();
        var count = 0;
        foreach (var page in mine.Chunk(PageMax))
        {
            var taken = (await payments.StoreAgainAsync(new StoreAgainArgs(
                    Array.ConvertAll(page, payment => payment.Id),
                    Array.ConvertAll(page, payment => payment.AmountCents),
                    Array.ConvertAll(page, payment => payment.AcceptedAt),
                    Array.ConvertAll(page, payment => payment.InDoubt
                        ? PaymentStates.InDoubt
                        : PaymentStates.Unsent),
                    epoch)))
                .Where(row => row.OwnerEpoch == epoch)
                .Select(row => (row.CorrelationId, row.AcceptedAt)).ToHashSet();
            foreach (var payment in page)
                payment.Purged |= !taken.Contains((payment.Id, payment.AcceptedAt));
            count += page.Count(payment => !payment.Purged);
        }

        Log.StoredAgain(log, count, mine.Count - count);
    }

    // What the table does not hold any more was purged. The table is asked, because payments that came after the
    // purge are in the same queue.
    private async Task MarkPurgedAsync()
    {
        foreach (var page in unsettled.BeginGeneration().Chunk(PageMax))
        {
            var stored = await payments.FindAsync(Array.ConvertAll(page, payment => payment.Id));
            var known = stored.ToDictionary(row => row.CorrelationId, row => row.AcceptedAt);
            foreach (var payment in page)
                payment.Purged |=
                    !known.TryGetValue(payment.Id, out var acceptedAt) || acceptedAt != payment.AcceptedAt;
        }
    }

    private static partial class Log
    {
        [LoggerMessage(216, LogLevel.Error,
            "Ledger reset: a crash of the database emptied its tables, noticed {At:yyyy-MM-dd'T'HH:mm:ss'Z'}")]
        public static partial void LedgerReset(ILogger log, DateTime? at);

        [LoggerMessage(217, LogLevel.Error,
            "Ledger reset: {Count} payments that were still in memory are stored again, {Others} are others' now")]
        public static partial void StoredAgain(ILogger log, int count, int others);
    }
}

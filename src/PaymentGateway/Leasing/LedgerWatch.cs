using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Notices that the ledger was purged by some instance, or emptied by a crash of the database.</summary>
internal sealed partial class LedgerWatch(
    LedgerStateStore ledger, PaymentStore payments, Lease lease, UnsettledPayments unsettled, ILogger<LedgerWatch> log)
{
    private const int PageMax = 1_000;

    private LedgerState? _known;
    private volatile LedgerState? _latest;

    /// <summary>When a crash of the database emptied the ledger (UTC); null after a purge. Any thread.</summary>
    public DateTime? ResetAt => _latest?.ResetAt;

    /// <summary>
    /// The payments without a row that are not purged; a database of several servers may show a row late. An id with
    /// another acceptance was deleted and posted again.
    /// </summary>
    public async Task<List<Payment>> AbsentAsync(List<Payment> given)
    {
        var stored = await payments.FindAsync([.. given.ConvertAll(payment => payment.Id)]);
        return given.FindAll(one => !one.Purged && !stored.Exists(row => row.CorrelationId == one.Id));
    }

    /// <summary>Reads the state from the ledger.</summary>
    public Task<LedgerState> StateAsync() => ledger.StateAsync();

    /// <summary>Must precede the first acceptance: the ledger may be emptied before the first check.</summary>
    public async Task BeginAsync() => _known ??= await ledger.StateAsync();

    /// <summary>Handles changes of the ledger; for the loop of renewals.</summary>
    /// <param name="state">As the renewal found it.</param>
    public async Task CheckAsync(LedgerState state)
    {
        var wasEmptied = !state.Intact;
        if (wasEmptied)
        {
            await ledger.MarkResetAsync();
            state = await ledger.StateAsync();
            Log.LedgerReset(log, state.ResetAt);
        }

        _latest = state;
        // If a purge followed the crash, there is nothing to store again.
        if ((wasEmptied || (_known is { } before && before.Resets != state.Resets)) && state.ResetAt is not null)
            await StoreAgainAsync();
        else if (_known?.Generation != state.Generation)
            await MarkPurgedAsync(unsettled.BeginGeneration());
        _known = state;
    }

    // The database crashed and its unlogged tables are empty: payments in memory are saved. A payment that any instance
    // has accepted again meanwhile belongs to that instance, and is dropped here.
    private async Task StoreAgainAsync()
    {
        var epoch = lease.Epoch;
        var known = unsettled.Snapshot();
        var mine = known.Where(payment => payment.Epoch == epoch && !payment.Purged)
            .OrderBy(payment => payment.Id).ToList();
        var count = 0;
        foreach (var page in mine.Chunk(PageMax))
        {
            var stored = await payments.StoreAgainAsync(new StoreAgainArgs(
                Array.ConvertAll(page, payment => payment.Id),
                Array.ConvertAll(page, payment => payment.AmountCents),
                Array.ConvertAll(page, payment => payment.AcceptedAt),
                Array.ConvertAll(page, payment => payment.MayBeAt.Bits),
                epoch)
            {
                HeldBy = Array.ConvertAll(page, payment => payment.HeldBy),
            });
            MarkPurged(page, stored.FindAll(row => row.OwnerEpoch == epoch));
            count += page.Count(payment => !payment.Purged);
        }

        Log.StoredAgain(log, count, mine.Count - count);
        // An adopter may have stored these.
        await MarkPurgedAsync(known.FindAll(payment => payment.Epoch != epoch));
    }

    // Asks the table, because payments that came after the purge are in memory too.
    private async Task MarkPurgedAsync(List<Payment> known)
    {
        foreach (var page in known.Chunk(PageMax))
            MarkPurged(page, await payments.FindAsync(Array.ConvertAll(page, payment => payment.Id)));
    }

    private static void MarkPurged(Payment[] page, List<StoredPayment> stored)
    {
        var kept = stored.Select(row => (row.CorrelationId, row.AcceptedAt)).ToHashSet();
        foreach (var payment in page)
            if (!kept.Contains((payment.Id, payment.AcceptedAt)))
                payment.Purge();
    }

    private static partial class Log
    {
        [LoggerMessage(216, LogLevel.Error,
            "Ledger reset: a crash of the database emptied its tables, noticed {At:yyyy-MM-dd'T'HH:mm:ss'Z'}")]
        public static partial void LedgerReset(ILogger log, DateTime? at);

        [LoggerMessage(217, LogLevel.Error,
            "Ledger reset: stored {Count} payments again; {Others} were accepted again by another instance")]
        public static partial void StoredAgain(ILogger log, int count, int others);
    }
}

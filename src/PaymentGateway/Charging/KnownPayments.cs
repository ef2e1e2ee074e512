using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>
/// Shows whether a processor's look-ups find what it has, by a payment that is known to be there: otherwise a 404
/// proves nothing (<see cref="DoubtResolver"/>). Callers of one moment share a call. Safe from any thread.
/// </summary>
internal sealed class KnownPayments(ProcessorLane lane, SettlementLedger ledger, TimeProvider clock)
{
    private const long NoneFound = long.MinValue;

    private static readonly TimeSpan Gather = TimeSpan.FromMilliseconds(100);

    private readonly object _gate = new();
    private Task _current = Task.CompletedTask;
    private Task<KnownFound>? _next;
    private bool _nextAsksLedger;

    /// <summary>
    /// Asks for a payment between two look-ups of a known one, which was charged after the payment's horizon. Look-ups
    /// that find it read a copy of the processor's payments that is newer than any charge of this payment.
    /// </summary>
    /// <param name="payment">A first look-up past its horizon was answered by 404.</param>
    /// <param name="horizonEnd">Monotonic timestamp: after it no charge of the payment can be stored any more.</param>
    /// <param name="oldest">
    /// In a quiet time, when none is newer: a payment of the ledger that was charged from then on (UTC) will do. Null:
    /// none will.
    /// </param>
    /// <returns>NotFound: the processor has not stored it, and never will. Unknown: a 404 proves nothing now.</returns>
    public async Task<LookupOutcome> ProveAbsenceAsync(
        Payment payment, long horizonEnd, DateTime? oldest, CancellationToken cancellation)
    {
        var unknown = new LookupOutcome(LookupResult.Unknown);
        var isNewer = lane.Known?.SentAt > horizonEnd;
        if (!isNewer && oldest is null)
            return unknown;

        var asksLedger = !isNewer && (lane.Known is null || oldest > DateTime.MinValue);
        if (!Proves(await FoundAsync(asksLedger)))
            return unknown;

        var answer = await lane.LookUpAsync(payment, cancellation);
        return answer.Result != LookupResult.NotFound || Proves(await FoundAsync(asksLedger)) ? answer : unknown;

        bool Proves(KnownFound found) => found.SentAt > horizonEnd || found.RequestedAt >= oldest;
    }

    // The look-up begins after this call, and at most one is in flight.
    private Task<KnownFound> FoundAsync(bool asksLedger)
    {
        lock (_gate)
        {
            _nextAsksLedger |= asksLedger;
            return _next ??= LookUpNextAsync(_current);
        }
    }

    private async Task<KnownFound> LookUpNextAsync(Task current)
    {
        await Task.Delay(Gather, clock);
        await Task.WhenAny(current);
        bool asksLedger;
        lock (_gate)
            (_current, _next, asksLedger, _nextAsksLedger) = (_next!, null, _nextAsksLedger, false);
        var found = new KnownFound(NoneFound, null);
        if (lane.Known is { } known)
        {
            // The look-ups are late where it is not found, and would find an older payment of the ledger all the same.
            if (!await IsFoundAsync(known.Id))
                return found;

            found = new KnownFound(known.SentAt, DateTime.MinValue);
        }

        if (!asksLedger)
            return found;

        try
        {
            var before = clock.GetUtcNow().UtcDateTime - (lane.Horizon / 2);
            return await ledger.FindKnownAsync(lane.Processor.Id, before) is { } row
                && await IsFoundAsync(row.CorrelationId) ? found with { RequestedAt = row.RequestedAt } : found;
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            // Without PostgreSQL nothing is shown, and the doubts wait; they tell any other failure.
            return found;
        }
    }

    private async Task<bool> IsFoundAsync(Guid known) =>
        (await lane.Client.LookUpAsync(known)).Result == LookupResult.Found;

    /// <summary>
    /// What look-ups found. SentAt: a monotonic timestamp of this instance's own; NoneFound where none was found.
    /// RequestedAt (UTC): of the ledger's newest; the least time where only one's own was asked for, null where none
    /// was found.
    /// </summary>
    private readonly record struct KnownFound(long SentAt, DateTime? RequestedAt);
}

using PaymentGateway.Processors;
using PaymentGateway.Storage;

namespace PaymentGateway.Settling;

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
    private Task<long>? _next;
    private bool _nextTakesOlder;

    /// <summary>
    /// Asks for a payment between two look-ups of a known one, which was charged after the payment's horizon. Look-ups
    /// that find it read a copy of the processor's payments that is newer than any charge of this payment.
    /// </summary>
    /// <param name="payment">A first look-up past its horizon was answered by 404.</param>
    /// <param name="horizonEnd">Monotonic timestamp: after it no charge of the payment can be stored any more.</param>
    /// <param name="takesOlder">A known payment of any age will do, because none is newer in a quiet time.</param>
    /// <returns>NotFound: the processor has not stored it, and never will. Unknown: a 404 proves nothing now.</returns>
    public async Task<LookupOutcome> ProveAbsenceAsync(
        Payment payment, long horizonEnd, bool takesOlder, CancellationToken cancellation)
    {
        var unknown = new LookupOutcome(LookupResult.Unknown);
        var after = takesOlder ? NoneFound : horizonEnd;
        if ((!takesOlder && !(lane.Known?.SentAt > horizonEnd)) || await FoundAsync(takesOlder) <= after)
            return unknown;

        var answer = await lane.LookUpAsync(payment, cancellation);
        return answer.Result != LookupResult.NotFound || await FoundAsync(takesOlder) > after ? answer : unknown;
    }

    // When the known payment that a look-up found was sent: 0 for one of the ledger. The look-up begins after this
    // call, and at most one is in flight.
    private Task<long> FoundAsync(bool takesOlder)
    {
        lock (_gate)
        {
            _nextTakesOlder |= takesOlder;
            return _next ??= LookUpNextAsync(_current);
        }
    }

    private async Task<long> LookUpNextAsync(Task current)
    {
        await Task.Delay(Gather, clock);
        await Task.WhenAny(current);
        bool takesOlder;
        lock (_gate)
            (_current, _next, takesOlder, _nextTakesOlder) = (_next!, null, _nextTakesOlder, false);
        // Where it is not found, the look-ups are late, and find an older one all the same.
        if (lane.Known is { } known)
            return await IsFoundAsync(known.Id) ? known.SentAt : NoneFound;

        try
        {
            return takesOlder && await ledger.FindKnownAsync(
                lane.Processor.Id, clock.GetUtcNow().UtcDateTime - (lane.Horizon / 2)) is { } older
                && await IsFoundAsync(older) ? 0 : NoneFound;
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            // Without PostgreSQL nothing is shown, and the doubts wait; they tell any other failure.
            return NoneFound;
        }
    }

    private async Task<bool> IsFoundAsync(Guid known) =>
        (await lane.Client.LookUpAsync(known)).Result == LookupResult.Found;
}

using PaymentGateway.Processors;

namespace PaymentGateway.Settling;

/// <summary>
/// Shows whether a processor's look-ups find what it has, by a payment that is known to be there: otherwise a 404
/// proves nothing (<see cref="DoubtResolver"/>). Callers of one moment share a call. Safe from any thread.
/// </summary>
internal sealed class KnownPayments(ProcessorLane lane, TimeProvider clock)
{
    private static readonly TimeSpan Gather = TimeSpan.FromMilliseconds(100);

    private readonly object _gate = new();
    private Task _current = Task.CompletedTask;
    private Task<long>? _next;

    /// <summary>
    /// Asks for a payment between two look-ups of a known one, which was charged after the payment's horizon. Look-ups
    /// that find it read a copy of the processor's payments that is newer than any charge of this payment.
    /// </summary>
    /// <param name="payment">A first look-up past its horizon was answered by 404.</param>
    /// <param name="horizonEnd">Monotonic timestamp: after it no charge of the payment can be stored any more.</param>
    /// <returns>NotFound: the processor has not stored it, and never will. Unknown: a 404 proves nothing now.</returns>
    public async Task<LookupOutcome> ProveAbsenceAsync(
        Payment payment, long horizonEnd, CancellationToken cancellation)
    {
        var unknown = new LookupOutcome(LookupResult.Unknown);
        if (lane.Known is not { } known || known.SentAt <= horizonEnd || await FoundAsync() <= horizonEnd)
            return unknown;

        var answer = await lane.LookUpAsync(payment, cancellation);
        return answer.Result != LookupResult.NotFound || await FoundAsync() > horizonEnd ? answer : unknown;
    }

    // When the known payment that a look-up found was sent; 0 where none was found. The look-up begins after this call,
    // and at most one is in flight.
    private Task<long> FoundAsync()
    {
        lock (_gate)
            return _next ??= LookUpNextAsync(_current);
    }

    private async Task<long> LookUpNextAsync(Task current)
    {
        await Task.Delay(Gather, clock);
        await Task.WhenAny(current);
        lock (_gate)
            (_current, _next) = (_next!, null);
        return lane.Known is { } known && (await lane.Client.LookUpAsync(known.Id)).Result == LookupResult.Found
            ? known.SentAt : 0;
    }
}

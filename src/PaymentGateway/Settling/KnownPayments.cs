using PaymentGateway.Processors;
using PaymentGateway.Storage;

namespace PaymentGateway.Settling;

/// <summary>
/// Shows whether a processor's look-ups find what it has, by a payment that is known to be there: otherwise a 404
/// proves nothing (<see cref="DoubtResolver"/>). Callers of one moment share a call. Safe from any thread.
/// </summary>
internal sealed class KnownPayments(ProcessorLane lane, SettlementLedger ledger, TimeProvider clock)
{
    private static readonly TimeSpan Gather = TimeSpan.FromMilliseconds(100);

    private readonly object _gate = new();
    private Task _current = Task.CompletedTask;
    private Task<bool>? _next;

    /// <summary>
    /// Asks for a payment between two look-ups of a known one. All three reach the processor's own answers, or an
    /// outage of look-ups began and ended between the two.
    /// </summary>
    /// <param name="payment">A first look-up past its horizon was answered by 404.</param>
    /// <returns>NotFound: the processor has not stored it, and never will. Unknown: a 404 proves nothing now.</returns>
    public async Task<LookupOutcome> ProveAbsenceAsync(Payment payment, CancellationToken cancellation)
    {
        var unknown = new LookupOutcome(LookupResult.Unknown);
        if (!await AreFoundAsync())
            return unknown;

        var answer = await lane.LookUpAsync(payment, cancellation);
        return answer.Result != LookupResult.NotFound || await AreFoundAsync() ? answer : unknown;
    }

    // The look-up begins after this call, and at most one is in flight.
    private Task<bool> AreFoundAsync()
    {
        lock (_gate)
            return _next ??= LookUpNextAsync(_current);
    }

    private async Task<bool> LookUpNextAsync(Task current)
    {
        await Task.Delay(Gather, clock);
        await Task.WhenAny(current);
        lock (_gate)
            (_current, _next) = (_next!, null);
        try
        {
            // The processor, or its operator, may have deleted what this instance knows: another one has settled since.
            return await IsFoundAsync(lane.Known)
                || await IsFoundAsync(await ledger.FindKnownAsync(
                    lane.Processor.Id, clock.GetUtcNow().UtcDateTime - (lane.Horizon / 2)));
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            // Without PostgreSQL nothing is shown, and the doubts wait; they tell any other failure.
            return false;
        }
    }

    private async Task<bool> IsFoundAsync(Guid? known) =>
        known is { } id && (await lane.Client.LookUpAsync(id)).Result == LookupResult.Found;
}

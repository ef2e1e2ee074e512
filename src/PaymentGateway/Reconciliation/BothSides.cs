using PaymentGateway.Http;
using PaymentGateway.Processors;
using PaymentGateway.Queueing;
using PaymentGateway.Settling;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// Asks the ledger and both processors, one question at a time and so many in a second, so that those who charge hardly
/// notice. A processor has three tries for an answer.
/// </summary>
internal sealed class BothSides(
    ReconciliationStore ledger, ProcessorClient atDefault, ProcessorClient atFallback,
    int callsPerSecond, ReconciliationProgress progress, TimeProvider clock, CancellationToken cancellation)
{
    private const int Tries = 3;
    private static readonly TimeSpan RetryInitial = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan RetryMaximum = TimeSpan.FromSeconds(2);

    // Of what is outside, no window could be made.
    private static readonly DateTime Earliest = new(2000, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    private static readonly DateTime Latest = new(9000, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    private readonly SettlementRateLimiter _rate = new(clock, callsPerSecond);

    /// <summary>Sums a window at one processor and in the ledger.</summary>
    /// <exception cref="StoppedException">The processor does not answer, or does not take the token.</exception>
    public async Task<Comparison> CompareAsync(Processor processor, TimeWindow window)
    {
        var outcome = await AskAsync(
            processor, client => client.SumAsync(window.From, window.Last),
            answer => (answer.Result != SummaryResult.Unknown, null), "how much it holds");
        if (outcome.Result == SummaryResult.Refused)
            throw new StoppedException(
                $"{processor} refused the token: see Gateway__Processors__{processor}__AdminToken.",
                Problems.ProcessorTokenWrong);

        var rows = await ledger.SumAsync(window.From, window.Last);
        progress.Now = progress.Now with { At = window.From };
        var totals = rows.Find(row => row.Processor == (short)processor);
        return new Comparison(
            totals is null ? default : new Sums(totals.Requests, totals.AmountCents),
            new Sums(outcome.Payments, outcome.Cents));
    }

    /// <summary>Waits until one more question may be asked, a statement in place of a call.</summary>
    public async Task PaceAsync()
    {
        cancellation.ThrowIfCancellationRequested();
        await _rate.AcquireAsync(cancellation);
    }

    /// <summary>Whether a processor holds a payment, and how; found or not found.</summary>
    /// <exception cref="StoppedException">The processor does not answer.</exception>
    public Task<LookupOutcome> LookUpAsync(Processor processor, Guid id) => AskAsync(
        processor, client => client.LookUpAsync(id),
        answer => (SaysAnything(answer), answer.RetryAfter), $"whether it holds {id}");

    /// <summary>A payment on all sides; null when the ledger has none with this id.</summary>
    /// <exception cref="StoppedException">A processor does not answer.</exception>
    public async Task<PaymentSides?> FindAsync(Guid id)
    {
        // The ledger last: what is settled meanwhile is seen there, as a processor has it first.
        var (first, second) = (await LookUpAsync(Processor.Default, id), await LookUpAsync(Processor.Fallback, id));
        return await ledger.FindAsync(id) is { } row ? new PaymentSides(row, first, second) : null;
    }

    private static bool SaysAnything(LookupOutcome answer) => answer.Result switch
    {
        LookupResult.Found => answer.RequestedAt >= Earliest && answer.RequestedAt < Latest,
        LookupResult.NotFound => true,
        _ => false,
    };

    private async Task<T> AskAsync<T>(
        Processor processor, Func<ProcessorClient, Task<T>> ask,
        Func<T, (bool IsKnown, TimeSpan? RetryAfter)> judge, string question)
    {
        var client = processor == Processor.Default ? atDefault : atFallback;
        var backoff = new Backoff(RetryInitial);
        for (var attempt = 1; ; attempt++)
        {
            await _rate.AcquireAsync(cancellation);
            var answer = await ask(client).WaitAsync(cancellation);
            progress.Now = progress.Now with { Calls = progress.Now.Calls + 1 };
            var (isKnown, retryAfter) = judge(answer);
            if (isKnown)
                return answer;

            if (attempt == Tries)
                throw new StoppedException(
                    $"{processor} does not say {question}.", Problems.ProcessorUnavailable, retryAfterSeconds: 5);

            await Task.Delay(retryAfter ?? backoff.Next(RetryMaximum), clock, cancellation);
        }
    }
}

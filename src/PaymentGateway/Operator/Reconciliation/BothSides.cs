using PaymentGateway.Charging;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// Asks the ledger and all processors, one question at a time and at a limited rate, because charges share their CPU. A
/// processor has three tries for an answer.
/// </summary>
/// <exception cref="StoppedException">A processor does not answer, or refuses the token.</exception>
internal sealed class BothSides(
    ReconciliationStore ledger, Func<ProcessorOptions, ProcessorClient> connect, ProcessorsOptions options,
    ReconciliationProgress progress, TimeProvider clock, CancellationToken cancellation) : IDisposable
{
    private const int Tries = 3;

    private static readonly TimeSpan RetryInitial = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan RetryMaximum = TimeSpan.FromSeconds(2);

    // A requestedAt outside cannot be put into a window.
    private static readonly DateTime Earliest = new(2000, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    private static readonly DateTime Latest = new(9000, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    private readonly Dictionary<Processor, ProcessorClient> _clients =
        options.All.ToDictionary(one => one.Processor, connect);

    private readonly SettlementRateLimiter _rate = new(clock, options.ReconciliationRate);

    /// <summary>The configured processors, the cheapest first.</summary>
    public IReadOnlyList<Processor> Processors { get; } = options.All.Select(one => one.Processor).ToList();

    public string[] Names => options.Names;

    /// <summary>Sums a window at one processor and in the ledger.</summary>
    public async Task<Comparison> CompareAsync(Processor processor, TimeWindow window)
    {
        var held = await AskAsync(
            processor, client => client.SumAsync(window.From, window.Last),
            answer => (answer.Result != SummaryResult.Unknown, null), "how much it holds");
        if (held.Result == SummaryResult.Refused)
            throw new StoppedException(
                $"{processor} refused the token: see Gateway__Processors__{processor}__AdminToken.",
                Problems.ProcessorTokenWrong);

        var rows = await ledger.SumAsync(window.From, window.Last);
        progress.At = window.From;
        var totals = rows.Find(row => row.Processor == processor.Name);
        return new Comparison(
            totals is null ? default : new Sums(totals.Requests, totals.AmountCents),
            new Sums(held.Payments, held.Cents));
    }

    /// <summary>Waits until one more statement may be sent; it counts as a call.</summary>
    public async Task PaceAsync()
    {
        cancellation.ThrowIfCancellationRequested();
        await _rate.AcquireAsync(cancellation);
    }

    /// <summary>Asks whether a processor holds a payment; the result is Found or NotFound.</summary>
    public Task<LookupOutcome> LookUpAsync(Processor processor, Guid id) => AskAsync(
        processor, client => client.LookUpAsync(id),
        answer => (IsPossible(answer), answer.RetryAfter), $"whether it holds {id}");

    /// <summary>A payment on all sides; null when the ledger has none with this id.</summary>
    public async Task<PaymentSides?> FindAsync(Guid id)
    {
        var held = new Dictionary<Processor, LookupOutcome>();
        foreach (var processor in Processors)
            held[processor] = await LookUpAsync(processor, id);
        // The ledger last, so that a payment that is settled meanwhile is seen there: a processor has it first.
        return await ledger.FindAsync(id) is { } row ? new PaymentSides(row, held) : null;
    }

    public void Dispose()
    {
        foreach (var client in _clients.Values)
            client.Dispose();
    }

    private static bool IsPossible(LookupOutcome answer) => answer.Result == LookupResult.NotFound
        || (answer.Result == LookupResult.Found && answer.RequestedAt >= Earliest && answer.RequestedAt < Latest);

    private async Task<T> AskAsync<T>(
        Processor processor, Func<ProcessorClient, Task<T>> ask,
        Func<T, (bool IsKnown, TimeSpan? RetryAfter)> judge, string question)
    {
        var backoff = new Backoff(RetryInitial);
        for (var attempt = 1; ; attempt++)
        {
            await _rate.AcquireAsync(cancellation);
            var answer = await ask(_clients[processor]).WaitAsync(cancellation);
            progress.Calls++;
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

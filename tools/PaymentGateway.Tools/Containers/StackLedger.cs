using PaymentGateway.Tools.Comparing;
using PaymentGateway.Tools.Paying;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// Loads on the gateway's port, and the comparison of every payment: the clients' answers, the gateway's ledger, the
/// processors' stores.
/// </summary>
internal sealed class StackLedger(Func<ComposeStack> stack, EngineClients http)
{
    private const int Clients = 8;
    private const int PerSecond = 400;

    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1) * Clients / PerSecond;
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(60);

    // The preview's slope, and its stages (docs/contract.md) in 24 of its 60 s: a processor's delay, ms, and whether it
    // fails.
    private const int PreviewSeconds = 24;
    private const double PreviewSlope = 550.0 / 60;

    private static readonly Dictionary<int, (int Default, bool Fails, int Fallback, bool FallbackFails)> Stages = new()
    {
        [4] = (100, false, 0, false),
        [8] = (100, true, 0, false),
        [12] = (2_000, true, 1_000, true),
        [16] = (20, false, 20, false),
        [20] = (0, false, 5_000, false),
    };

    private LoadLedger _sent = new();
    private IReadOnlyList<ProcessorStore> _kept = [];

    public void Begin()
    {
        _sent = new LoadLedger();
        _kept = [];
    }

    /// <summary>400 payments a second for so many seconds; a failed one is not repeated.</summary>
    /// <returns>How many were acknowledged, and how many sent.</returns>
    public async Task<(int Acknowledged, int Sent)> LoadAsync(int seconds)
    {
        var (acknowledged, count) = (_sent.Acknowledged, PerSecond * seconds);
        await LoadDriver.RunClientsAsync(http.Clients, _sent, Clients, count, Pause);
        return (_sent.Acknowledged - acknowledged, count);
    }

    /// <summary>Nothing is wrong meanwhile, so every payment is acknowledged.</summary>
    public async Task LoadHereAsync(ContainerStep step, int seconds)
    {
        var (acknowledged, count) = await LoadAsync(seconds);
        step.Must(acknowledged == count, $"{acknowledged} of {count} payments were acknowledged");
    }

    /// <summary>The preview, shortened; every payment is acknowledged.</summary>
    public async Task PreviewHereAsync(ContainerStep step)
    {
        var (acknowledged, sent) = (_sent.Acknowledged, _sent.Count);
        var seconds = new List<Task>();
        for (var second = 0; second < PreviewSeconds; second++)
        {
            if (Stages.TryGetValue(second, out var stage))
            {
                await http.SetAsync("default", stage.Default, stage.Fails);
                await http.SetAsync("fallback", stage.Fallback, stage.FallbackFails);
            }

            var rate = (int)Math.Round(PreviewSlope * (second + 0.5));
            seconds.Add(LoadDriver.RunAtRateAsync(http.Clients, _sent, rate, TimeSpan.FromSeconds(1)));
            await Task.Delay(TimeSpan.FromSeconds(1));
        }

        await Task.WhenAll(seconds);
        (acknowledged, sent) = (_sent.Acknowledged - acknowledged, _sent.Count - sent);
        step.Must(acknowledged == sent, $"{acknowledged} of {sent} payments of the preview were acknowledged");
    }

    /// <summary>
    /// Simulators that are about to end forget; what they hold now still counts. Only while nothing is in flight.
    /// </summary>
    public async Task KeepAsync() => _kept = [.. _kept, .. await http.StoresAsync()];

    /// <summary>Begins new ledgers everywhere.</summary>
    public async Task ForgetAsync()
    {
        await http.PurgeAsync();
        Begin();
    }

    /// <summary>Waits until all is settled, and compares.</summary>
    public async Task CompareAsync(ContainerStep step)
    {
        await Waiting.HoldsAsync(DrainLimit, IsDrainedAsync);
        if (await ReadAsync(step) is not var (ledger, stored))
            return;
        var differences = new LedgerComparison(_sent, ledger, stored).Differences().ToList();
        if ((await http.SummariseAsync(), Summary(stored)) is var (said, expected) && said != expected)
            differences.Add(new Difference("summary is wrong", [$"it says {said} for {expected}"]));
        Report(step, differences);
        if (differences.Count == 0)
            step.Ledgers = $"equal ({ledger.Count})";
    }

    /// <summary>After a loss by design: what is left must be true, and nothing is charged twice.</summary>
    public async Task CompareAfterLossAsync(ContainerStep step)
    {
        if (await ReadAsync(step) is var (ledger, stored))
            Report(step, new LedgerComparison(_sent, ledger, stored).DifferencesAfterLoss());
    }

    public async Task<bool> NothingIsUnsettledAsync() => await stack().CountAsync() is { Unsettled: 0 };

    private static void Report(ContainerStep step, IReadOnlyList<Difference> differences)
    {
        if (differences.Count == 0)
            return;
        step.Must(false, "the ledgers differ");
        step.Ledgers = string.Join("; ", differences.Select(difference => difference.Count));
        step.Explain(differences.Select(difference => $"{difference}"));
    }

    private async Task<bool> IsDrainedAsync() =>
        await stack().CountAsync() is { Unsettled: 0 } counts && counts.Settled >= _sent.Acknowledged;

    private async Task<(Dictionary<Guid, LedgerEntry> Ledger, IReadOnlyList<ProcessorStore> Stored)?> ReadAsync(
        ContainerStep step)
    {
        if (await stack().SettlementsAsync() is { } ledger)
            return (ledger, [.. _kept, .. await http.StoresAsync()]);
        step.Must(false, "the gateway's ledger cannot be read");
        return null;
    }

    // The gateway's to the letter, if it agrees with the processors.
    private static string Summary(IEnumerable<ProcessorStore> stored) => JsonSerializer.Serialize(stored
        .GroupBy(store => store.Processor).ToDictionary(stores => stores.Key, stores => new
        {
            totalRequests = stores.Sum(store => store.Payments.Count()),
            totalAmount = 0.00m + stores.Sum(store => store.Payments.Sum(payment => payment.Amount)),
        }));
}

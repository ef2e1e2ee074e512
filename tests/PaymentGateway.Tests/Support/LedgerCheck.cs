namespace PaymentGateway.Tests.Support;

/// <summary>Compares every payment of a load: its client's answer, the ledger, and the processors.</summary>
internal static class LedgerCheck
{
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    /// <summary>Waits until everything acknowledged is settled, and fails with every difference that is left.</summary>
    public static async Task<TimeSpan> AgreesAsync(IComparedSystem system, LoadLedger ledger, TimeSpan? within = null)
    {
        var waited = Stopwatch.StartNew();
        bool drained;
        while (!(drained = await IsDrainedAsync(system, ledger)) && waited.Elapsed < (within ?? DrainLimit))
            await Task.Delay(PollInterval);
        var took = waited.Elapsed;

        var differences = await CompareAsync(system, ledger);
        // No client was told of such a payment, perhaps; but whoever has stored it has to settle it.
        if (!drained && await system.Database.CountUnsettledAsync() is > 0 and var unsettled)
            differences.Add($"{unsettled} unsettled in the ledger");
        Assert.True(
            differences.Count == 0, $"After {took.TotalSeconds:0.0} s of draining:\n{string.Join('\n', differences)}");
        return took;
    }

    public static async Task<List<string>> CompareAsync(IComparedSystem system, LoadLedger ledger)
    {
        var settlements = await system.Database.SettlementsAsync();
        var comparison = new LedgerComparison(ledger, settlements, await system.StoresAsync());
        var differences = comparison.Differences().Select(difference => $"{difference}").ToList();
        await CompareSummariesAsync(system, differences);
        return differences;
    }

    public static Task<ProcessorStore[]> StoresAsync(this IComparedSystem system) => Task.WhenAll(
        system.Processors.Select(async one => new ProcessorStore(one.Key, (await one.Value.PaymentsAsync()).Values)));

    /// <summary>Every stored payment is in the ledger, and no call is in flight.</summary>
    public static async Task<bool> IsIdleAsync(this IComparedSystem system) =>
        await system.Database.CountUnsettledAsync() == 0
        && !(await Task.WhenAll(system.Processors.Values.Select(one => one.IsBusyAsync()))).Contains(true);

    public static async Task<bool> IsDrainedAsync(IComparedSystem system, LoadLedger ledger) =>
        await system.IsIdleAsync() && await system.Database.CountAsync("settlements") >= ledger.Acknowledged;

    private static async Task CompareSummariesAsync(IComparedSystem system, List<string> differences)
    {
        var expected = await GatewaySummary.OfProcessorsAsync(system.Processors);
        foreach (var instance in system.RunningInstances())
            if (await GatewaySummary.AskAsync(instance) is var summary && summary != expected)
                differences.Add($"the summary says {summary}, the processors {expected}");
    }
}

public static class LoadLedgerAsserts
{
    public static void NoClientSawAnError(this LoadLedger ledger)
    {
        var others = ledger.Entries
            .Where(entry => entry.Outcome != LoadOutcome.Acknowledged || entry.Attempts > 1).ToList();
        Assert.True(
            others.Count == 0,
            $"{others.Count} of {ledger.Count} clients saw an error, such as:\n{string.Join('\n', others.Take(5))}");
    }
}

/// <summary>A running system as a comparison of every payment asks it.</summary>
internal interface IComparedSystem
{
    GatewaySystemDatabase Database { get; }

    IReadOnlyDictionary<string, SimulatedProcessor> Processors { get; }

    IEnumerable<HttpClient> RunningInstances();
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The test executes the statements of version 1, because its binary is not at hand here.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class RollingUpgradeTests
{
    private const string Kept = """
        SELECT string_agg(settlement::text, E'\n' ORDER BY correlation_id) FROM (
            SELECT correlation_id, accepted_at, processor, amount_cents, requested_at FROM settlements
            WHERE requested_at < '2026-11-21 00:00:00+00') AS settlement
        """;

    // Payments of the dump: one released in doubt, and two of the killed epoch.
    private static readonly Guid[] Unsettled =
        [.. new[] { "06", "11", "12" }.Select(end => Guid.Parse($"00000000-0000-4000-8000-0000000000{end}"))];

    [GatewaySystemFact]
    public async Task Instances_are_upgraded_one_by_one_under_load_without_a_failed_request_or_statement()
    {
        await using var system = await GatewaySystem.UpAsync();
        await system.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        await using var tables = await Statements.OpenAsync(system.ConnectionString);
        await VersionOne.ReplaceAsync(tables);
        var before = await tables.ScalarAsync<string>(Kept);
        await using var earlier = await VersionOneInstance.StartAsync(system.ConnectionString);
        await earlier.GoesOnAsync();

        await system.StartAsync(GatewaySystem.First);
        await earlier.GoesOnAsync();
        var ledger = new LoadLedger();
        var upgrade = UpgradeAsync(system, earlier);
        await LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 100, until: upgrade);
        await upgrade;
        await earlier.StopAsync();

        ledger.NoClientSawAnError();
        await Eventually.HoldsAsync(system.IsIdleAsync, "everything is settled, what the dump left too");
        await AssertAgreeAsync(system, ledger);
        Assert.Equal(before, await tables.ScalarAsync<string>(Kept));
        Assert.Equal(1, await tables.ScalarAsync<long>("SELECT count(*) FROM payments WHERE owner_epoch = -1"));
    }

    private static async Task UpgradeAsync(GatewaySystem system, VersionOneInstance earlier)
    {
        await system.Database.CarriesLoadAsync(GatewaySystem.First);
        await system.StartAsync(GatewaySystem.Second);
        await system.StopAsync(GatewaySystem.First);
        await system.Database.CarriesLoadAsync(GatewaySystem.Second);
        await system.StartAsync(GatewaySystem.First);
        await earlier.GoesOnAsync();
    }

    private static async Task AssertAgreeAsync(GatewaySystem system, LoadLedger ledger)
    {
        foreach (var id in Unsettled)
            ledger.Note(new LoadEntry(
                id, 19.90m + (0.01m * int.Parse($"{id}"[^2..])), LoadOutcome.Acknowledged, 1, default, default, ""));
        // Settlements of version 1 were charged by nobody, and those in the dump are of other processors.
        var settled = (await system.Database.SettlementsAsync())
            .Where(row => ledger.Find(row.Key) is not null).ToDictionary(row => row.Key, row => row.Value);

        var comparison = new LedgerComparison(ledger, settled, await system.StoresAsync());

        Assert.Empty(comparison.Differences());
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// From version 1 by its statements, because nobody builds its binary any more, and from the binary of the release
/// before.
/// </summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class RollingUpgradeTests : IDisposable
{
    private const string Kept = """
        SELECT string_agg(settlement::text, E'\n' ORDER BY correlation_id) FROM (
            SELECT correlation_id, accepted_at, processor, amount_cents, requested_at FROM settlements
            WHERE requested_at < '2026-11-21 00:00:00+00') AS settlement
        """;

    // Which `.ci/run upgrade` has built; otherwise this very version, whose restarts are the same.
    private static readonly string Earlier =
        Environment.GetEnvironmentVariable("EARLIER_BIN") ?? GatewaySystemParts.Gateway;

    private readonly string _link = Path.Combine(Path.GetTempPath(), $"payment-gateway.{Path.GetRandomFileName()}");

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

    [GatewaySystemFact]
    public async Task A_release_is_upgraded_under_load_and_comes_back_unless_its_tables_are_older()
    {
        Link(Earlier);
        await using var system = await GatewaySystem.UpAsync(("GATEWAY_BIN", Path.Combine(_link, "PaymentGateway")));
        var ledger = new LoadLedger();

        var changes = UpgradeAndComeBackAsync(system);
        await LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 100, until: changes);
        await changes;

        ledger.NoClientSawAnError();
        await LedgerCheck.AgreesAsync(system, ledger);
    }

    public void Dispose() => File.Delete(_link);

    private async Task UpgradeAndComeBackAsync(GatewaySystem system)
    {
        await using var tables = await Statements.OpenAsync(system.ConnectionString);
        var before = await VersionAsync();
        await ReplaceAsync(GatewaySystemParts.Gateway);
        if (await VersionAsync() == before)
        {
            await ReplaceAsync(Earlier);
            return;
        }

        Link(Earlier);
        await system.StopAsync(GatewaySystem.First);
        var refused = await Assert.ThrowsAsync<ToolException>(() => system.StartAsync(GatewaySystem.First));
        Assert.Contains($"version {before + 1}", refused.Message, StringComparison.Ordinal);
        Link(GatewaySystemParts.Gateway);
        await system.StartAsync(GatewaySystem.First);
        await system.Database.CarriesLoadAsync(GatewaySystem.First);

        Task<int> VersionAsync() => tables.ScalarAsync<int>("SELECT max(version) FROM schema_version");

        async Task ReplaceAsync(string binary)
        {
            Link(binary);
            await system.StopAsync(GatewaySystem.Second);
            await system.StartAsync(GatewaySystem.Second);
            await system.StopAsync(GatewaySystem.First);
            await system.Database.CarriesLoadAsync(GatewaySystem.Second);
            await system.StartAsync(GatewaySystem.First);
            await system.Database.CarriesLoadAsync(GatewaySystem.First);
        }
    }

    // A system starts what is behind the link.
    private void Link(string binary)
    {
        File.Delete(_link);
        Directory.CreateSymbolicLink(_link, Path.GetDirectoryName(binary)!);
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

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>From the binary of the release before to this one, and back.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class RollingUpgradeTests : IDisposable
{
    // Which `.ci/run upgrade` has built; otherwise this very version, whose restarts are the same.
    private static readonly string Earlier =
        Environment.GetEnvironmentVariable("EARLIER_BIN") ?? GatewaySystemParts.Gateway;

    private readonly string _link = Path.Combine(Path.GetTempPath(), $"payment-gateway.{Path.GetRandomFileName()}");

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
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A PostgreSQL of the operator's own, with nothing but its defaults: `jit` is on there.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class DefaultServerTests
{
    private const int PerSecond = 50;

    [GatewaySystemFact]
    public async Task On_a_server_with_its_defaults_payments_of_a_killed_instance_are_settled_once()
    {
        await using var server = await PostgresServer.StartWithDefaultsAsync();
        await server.ExecuteAsync("CREATE DATABASE gateway");
        await using var system = await GatewaySystem.UpAsync(
            ("LEDGER", $"Host={server.Directory};Username=postgres;Database=gateway;Multiplexing=true"),
            ("PROFILE", "durable"));
        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(150));
        var ledger = new LoadLedger();

        var killing = KillAsync(system);
        await LoadDriver.RunAtRateAsync(system.Client, ledger, PerSecond, until: killing);
        await killing;

        await LedgerCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
        foreach (var part in new[] { GatewaySystem.First, GatewaySystem.Second })
            Assert.DoesNotContain("PostgreSQL is unavailable", system.ReadLog(part), StringComparison.Ordinal);
    }

    private static async Task KillAsync(GatewaySystem system)
    {
        await system.Database.CarriesLoadAsync(GatewaySystem.First);
        await system.KillAsync(GatewaySystem.First);
        await system.StartAsync(GatewaySystem.First);
        await system.Database.CarriesLoadAsync(GatewaySystem.First);
    }
}

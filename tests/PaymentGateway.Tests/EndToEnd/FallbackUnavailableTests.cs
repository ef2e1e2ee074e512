using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Fallback refuses connections: what default alone can settle does not wait for its answer.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class FallbackUnavailableTests(ITestOutputHelper output) : IAsyncLifetime
{
    private const int Payments = 300;
    private const string Fallback = "fallback";

    private readonly LoadLedger ledger = new();
    private GatewaySystem system = null!;

    // A horizon that no test would wait out.
    public async Task InitializeAsync() =>
        system = await GatewaySystem.UpAsync(("Gateway__Settling__InDoubtHorizon", "30m"));

    public async Task DisposeAsync() => await system.DisposeAsync();

    [GatewaySystemFact]
    public async Task Payments_of_a_killed_instance_are_settled_at_default_at_once_and_none_is_parked()
    {
        await system.StopAsync(Fallback);
        await system.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(system.Api1, ledger, clients: 20, Payments, TimeSpan.Zero);
        // Some are in flight when it dies: default goes on and stores them.
        await system.Default.SetDelayAsync(TimeSpan.FromSeconds(1));
        await system.Default.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () => (await system.Default.CallsAsync()).InFlight > 3, "charges are in flight");

        await system.KillAsync(GatewaySystem.First);
        await system.Default.SetDelayAsync(TimeSpan.Zero);

        await Eventually.HoldsAsync(
            async () => await system.Database.CountUnsettledAsync() == 0,
            "all is settled while fallback is unavailable");
        Assert.Equal(Payments, await system.Database.CountAsync("settlements"));
        Assert.Equal(0, await system.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}"));
        var repeated = (await system.Default.CallsAsync()).Duplicates422;
        Assert.True(repeated > 0, "nothing that the dead instance had sent was sent again");
        await system.StartAsync(Fallback);
        await LedgerCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
        Assert.Empty(await system.Fallback.PaymentsAsync());
        output.WriteLine($"{Payments} adopted, {repeated} of them had been stored");
    }
}

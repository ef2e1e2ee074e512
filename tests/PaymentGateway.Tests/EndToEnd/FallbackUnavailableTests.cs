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

    private readonly LoadLedger _ledger = new();
    private GatewaySystem _system = null!;

    // A horizon that no test would wait out.
    public async Task InitializeAsync() =>
        _system = await GatewaySystem.UpAsync(("Gateway__Settling__InDoubtHorizon", "30m"));

    public async Task DisposeAsync() => await _system.DisposeAsync();

    [GatewaySystemFact]
    public async Task Payments_of_a_killed_instance_are_settled_at_default_at_once_and_none_is_parked()
    {
        await _system.StopAsync(Fallback);
        await _system.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(_system.Api1, _ledger, clients: 20, Payments, TimeSpan.Zero);
        // Some are in flight when it dies: default goes on and stores them.
        await _system.Default.SetDelayAsync(TimeSpan.FromSeconds(1));
        await _system.Default.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () => (await _system.Default.CallsAsync()).InFlight > 3, "charges are in flight");

        await _system.KillAsync(GatewaySystem.First);
        await _system.Default.SetDelayAsync(TimeSpan.Zero);

        await Eventually.HoldsAsync(
            async () => await _system.Database.CountUnsettledAsync() == 0,
            "all is settled while fallback is unavailable");
        Assert.Equal(Payments, await _system.Database.CountAsync("settlements"));
        Assert.Equal(0, await _system.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}"));
        var repeated = (await _system.Default.CallsAsync()).Duplicates422;
        Assert.True(repeated > 0, "nothing that the dead instance had sent was sent again");
        await _system.StartAsync(Fallback);
        await LedgerCheck.AgreesAsync(_system, _ledger);
        _ledger.NoClientSawAnError();
        Assert.Empty(await _system.Fallback.PaymentsAsync());
        output.WriteLine($"{Payments} adopted, {repeated} of them had been stored");
    }
}

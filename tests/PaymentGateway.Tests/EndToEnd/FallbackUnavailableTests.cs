namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Fallback refuses connections: what default alone can settle does not wait for its answer.</summary>
[Collection(OneAfterAnother.Name)]
// A horizon that no test would wait out.
public sealed class FallbackUnavailableTests() : OwnSystem(("Gateway__Settling__InDoubtHorizon", "30m"))
{
    private const int Payments = 300;
    private const string Fallback = "fallback";

    [GatewaySystemFact]
    public async Task Payments_of_a_killed_instance_are_settled_at_default_at_once_and_none_is_parked()
    {
        await System.StopAsync(Fallback);
        await System.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(System.Api1, Ledger, clients: 20, Payments, TimeSpan.Zero);
        // Some are in flight when it dies: default goes on and stores them.
        await System.Default.SetDelayAsync(TimeSpan.FromSeconds(1));
        await System.Default.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () => (await System.Default.CallsAsync()).InFlight > 3, "charges are in flight");

        await System.KillAsync(GatewaySystem.First);
        await System.Default.SetDelayAsync(TimeSpan.Zero);

        await Eventually.HoldsAsync(
            async () => await System.Database.CountUnsettledAsync() == 0,
            "all is settled while fallback is unavailable");
        Assert.Equal(Payments, await System.Database.CountAsync("settlements"));
        Assert.Equal(0, await System.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}"));
        var repeated = (await System.Default.CallsAsync()).Duplicates422;
        Assert.True(repeated > 0, "nothing that the dead instance had sent was sent again");
        await System.StartAsync(Fallback);
        await LedgerCheck.AgreesAsync(System, Ledger);
        Ledger.NoClientSawAnError();
        Assert.Empty(await System.Fallback.PaymentsAsync());
    }
}

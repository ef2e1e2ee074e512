using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Charges that wait for others to begin with: acknowledged, stored, at no processor yet.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class LingeringChargeTests
{
    private static readonly TimeSpan Linger = TimeSpan.FromMilliseconds(200);

    [GatewaySystemFact]
    public async Task Charges_linger_and_an_instance_that_is_stopped_meanwhile_settles_them_first()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__Linger", $"{Linger.TotalMilliseconds}ms"));
        var ledger = new LoadLedger();
        // The first waits for the whole time, and who comes meanwhile begins with it. A busy machine makes waits longer
        // only: so poll until there was one of each.
        await Eventually.HoldsAsync(
            async () =>
            {
                await LoadDriver.PostAsync(system.Api1, ledger);
                var waits = await WaitsAsync(system);
                return waits.Any(wait => wait > 0.9 * Linger) && waits.Any(wait => wait < 0.5 * Linger);
            },
            "one charge waits for others, and another begins with it");
        await LoadDriver.RunClientsAsync(
            system.Api1, ledger, clients: 1, payments: 10, pause: TimeSpan.FromMilliseconds(20));

        await system.StopAsync(GatewaySystem.First);

        Assert.Equal(0, await system.Database.CountUnsettledAsync());
        await LedgerCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
    }

    // From each acceptance to the charge, in the order of the charges.
    private static async Task<List<TimeSpan>> WaitsAsync(GatewaySystem system) =>
        (await system.Database.SettledInOrderAsync()).Select(row => row.RequestedAt - row.AcceptedAt).ToList();
}

using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.WholeWay;

/// <summary>Charges that wait for others to begin with: acknowledged, stored, at no processor yet.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class GatheredChargeTests
{
    private static readonly TimeSpan Gather = TimeSpan.FromMilliseconds(200);

    [GatewaySystemFact]
    public async Task Charges_gather_and_an_instance_that_is_stopped_meanwhile_settles_them_first()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__Gather", $"{Gather.TotalMilliseconds}ms"));
        var ledger = new LoadLedger();
        await LoadDriver.RunClientsAsync(
            system.Api1, ledger, clients: 1, payments: 10, pause: TimeSpan.FromMilliseconds(20));

        await system.StopAsync(GatewaySystem.First);

        Assert.Equal(0, await system.Database.CountUnsettledAsync());
        await BooksCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
        // The payments came for 200 ms or longer, so at two ticks or three. Those of a tick begin in a row.
        var charges = (await system.Database.SettledInOrderAsync()).Select(row => row.RequestedAt).ToList();
        var apart = charges.Zip(charges.Skip(1)).Count(pair => pair.Second - pair.First > Gather / 20);
        Assert.True(apart < 6, $"the charges began at {apart + 1} moments");
    }
}

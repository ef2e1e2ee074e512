using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.WholeWay;

/// <summary>Charges that wait for others to begin with: acknowledged, stored, at no processor yet.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class GatheredChargeTests
{
    private static readonly TimeSpan Gather = TimeSpan.FromSeconds(1);

    [GatewaySystemFact]
    public async Task Charges_gather_and_an_instance_that_is_stopped_meanwhile_settles_them_first()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__Gather", $"{Gather.TotalMilliseconds}ms"));
        var ledger = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Api1, ledger, clients: 10, payments: 10, TimeSpan.Zero);

        await system.StopAsync(GatewaySystem.First);

        Assert.Equal(0, await system.Database.CountUnsettledAsync());
        await BooksCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
        // The two times are of two clocks, so a little less will do.
        var waited = (await system.Database.SettledInOrderAsync()).Max(row => row.RequestedAt - row.AcceptedAt);
        Assert.True(waited > Gather * 0.9, $"the first charge waited {waited.TotalMilliseconds} ms only");
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The instance that gets a payment from nginx (nginx/upstreams/one-machine.conf; decision 0020).</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class LoadSharingTests(RunningSystem running) : OnRunningSystem(running)
{
    // Not their epochs: the one that did not purge begins its next at its next renewal, while payments come already.
    private const string Owners =
        "(SELECT DISTINCT instance FROM payments JOIN leases ON epoch = owner_epoch) AS owners";

    [GatewaySystemTheory]
    [InlineData(1, 50, 1)]
    [InlineData(64, 1_000, 2)]
    public async Task A_light_load_goes_to_one_instance_and_a_heavy_one_to_both(
        int clients, int payments, int instances)
    {
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients, payments, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        Assert.Equal(instances, await System.Database.CountAsync(Owners));
    }
}

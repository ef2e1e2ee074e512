using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>What an owner left in doubt is looked up by its adopter before anything is charged.</summary>
public sealed class AdoptedInDoubtTests : IAsyncLifetime
{
    private GatewayRig rig = null!;

    public async Task InitializeAsync() => rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await rig.DisposeAsync();

    [PostgresFact]
    public async Task An_adopted_payment_that_fallback_has_stored_is_settled_there_and_not_charged_at_default()
    {
        await rig.Default.SetFailureAsync(true);
        await rig.Fallback.SetFaultsAsync(new { afterInsert = "hang", times = 1 });
        var owner = await rig.StartGatewayAsync("Routing:FallbackAfter=0s");
        await owner.PayAsync();
        await Eventually.HoldsAsync(
            async () => (await rig.Fallback.PaymentsAsync()).Count == 1, "fallback has it, and has not answered");
        await rig.StopGatewayAsync(owner);
        Assert.Equal(0, await rig.CountSettledAsync());

        await rig.Default.SetFailureAsync(false);
        await rig.StartGatewayAsync();

        await Eventually.HoldsAsync(async () => await rig.CountSettledAsync() == 1, "its adopter settled it");
        Assert.Empty(await rig.Default.PaymentsAsync());
        await rig.AssertLedgersAgreeAsync();
    }
}

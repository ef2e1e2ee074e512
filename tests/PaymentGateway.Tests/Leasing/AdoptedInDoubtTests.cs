using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>What an owner left in doubt is looked up by its adopter before anything is charged.</summary>
public sealed class AdoptedInDoubtTests : IAsyncLifetime
{
    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task An_adopted_payment_that_fallback_has_stored_is_settled_there_and_not_charged_at_default()
    {
        await _rig.Default.SetFailureAsync(true);
        await _rig.Fallback.SetFaultsAsync(new { afterInsert = "hang", times = 1 });
        var owner = await _rig.StartGatewayAsync("Routing:FallbackAfter=0s");
        await owner.PayAsync();
        await Eventually.HoldsAsync(
            async () => (await _rig.Fallback.PaymentsAsync()).Count == 1, "fallback has it, and has not answered");
        await _rig.StopGatewayAsync(owner);
        Assert.Equal(0, await _rig.CountSettledAsync());

        await _rig.Default.SetFailureAsync(false);
        await _rig.StartGatewayAsync();

        await Eventually.HoldsAsync(async () => await _rig.CountSettledAsync() == 1, "its adopter settled it");
        Assert.Empty(await _rig.Default.PaymentsAsync());
        await _rig.AssertLedgersAgreeAsync();
    }
}

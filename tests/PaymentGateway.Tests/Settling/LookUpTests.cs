namespace PaymentGateway.Tests.Settling;

/// <summary>A look-up without an answer resolves nothing, however long it goes on.</summary>
public sealed class LookUpTests : IAsyncLifetime
{
    private const int LookUps = 4;

    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresTheory]
    [InlineData("tooMany")]
    [InlineData("errorBody")]
    [InlineData("garbage")]
    public async Task Without_an_answer_to_look_ups_a_payment_stays_where_it_was_charged(string fault)
    {
        await _rig.Default.SetFaultsAsync(new { afterInsert = "reset", lookUp = fault });
        // Hardly any horizon: only the look-up stands between the payment and the other processor.
        var gateway = await _rig.StartGatewayAsync(
            "Routing:FallbackAfter=0s", "Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s");
        await gateway.PayAsync();
        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 1, "it is in doubt");
        await _rig.Default.SetFailureAsync(true);
        await Eventually.HoldsAsync(
            async () => (await _rig.Default.CallsAsync()).Lookups >= LookUps, "it was looked up often enough");

        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
        await _rig.Default.ClearFaultsAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }
}

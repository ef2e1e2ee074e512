namespace PaymentGateway.Tests.Charging;

/// <summary>A third processor, dearer than default and fallback; all three fail at first.</summary>
public sealed class ThreeProcessorsTests : OwnRig
{
    private SimulatedProcessor _third = null!;

    private string[] Settings =>
    [
        $"Processors:third:BaseUrl={_third.BaseAddress}", "Processors:third:Fee=0.3", "Routing:FallbackAfter=0s",
        "Settling:DrainTimeout=0s",
    ];

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _third = await SimulatedProcessor.StartAsync(feePerTransaction: 0.3m);
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        await _third.SetFailureAsync(true);
    }

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        await _third.DisposeAsync();
    }

    [PostgresFact]
    public async Task The_dearest_takes_what_the_others_cannot_and_a_cheaper_one_that_is_back_the_next()
    {
        var gateway = await Rig.StartGatewayAsync(Settings);
        var id = await PaidAndTriedByAllAsync(gateway);
        await _third.SetFailureAsync(false);

        await SettledAsync(1);
        Assert.Equal([id], (await _third.PaymentsAsync()).Keys);
        Assert.Contains(
            "\"third\":{\"totalRequests\":1,\"totalAmount\":19.90}", await gateway.GetAsync("payments-summary"),
            StringComparison.Ordinal);
        Assert.Contains("\"processor\":\"third\"", await gateway.GetAsync($"payments/{id}"), StringComparison.Ordinal);
        Assert.Equal(0b1110, await Rig.Database.LeaseAsync<short>(gateway.Epoch.Number, "used_processors"));

        await Rig.Fallback.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () =>
            {
                await gateway.PayAsync();
                return (await Rig.Fallback.PaymentsAsync()).Count > 0;
            },
            "fallback gets one");
        Assert.Empty(await Rig.Default.PaymentsAsync());
    }

    // Released in doubt at all three, because its epoch had used them.
    [PostgresTheory]
    [InlineData("True")]
    [InlineData("False")]
    public async Task A_payment_in_doubt_at_the_third_is_found_there_by_the_next_owner_though_it_is_disabled(
        string enabled)
    {
        var before = await Rig.StartGatewayAsync(Settings);
        var id = await PaidAndTriedByAllAsync(before);
        await _third.SetFaultsAsync(new { afterInsert = "reset", lookUp = "tooMany" });
        await _third.SetFailureAsync(false);
        await Eventually.HoldsAsync(async () => (await _third.PaymentsAsync()).Count == 1, "the third has stored it");
        var posts = (await _third.CallsAsync()).Posts;
        await Rig.StopGatewayAsync(before);
        Assert.Equal((short)0b1110, await Rig.Database.ScalarAsync<short>("SELECT may_be_at FROM payments"));
        await Rig.Default.SetFailureAsync(false);
        await _third.ClearFaultsAsync();

        var after = await Rig.StartGatewayAsync([.. Settings, $"Processors:third:Enabled={enabled}"]);

        await SettledAsync(1);
        Assert.Contains("\"processor\":\"third\"", await after.GetAsync($"payments/{id}"), StringComparison.Ordinal);
        Assert.Empty(await Rig.Default.PaymentsAsync());
        Assert.Equal(posts, (await _third.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_disabled_processor_gets_no_payment_and_stays_in_the_summary()
    {
        await _third.SetFailureAsync(false);
        var before = await Rig.StartGatewayAsync(Settings);
        await before.PayAsync();
        await SettledAsync(1);
        await Rig.StopGatewayAsync(before);
        var posts = (await _third.CallsAsync()).Posts;

        var after = await Rig.StartGatewayAsync([.. Settings, "Processors:third:Enabled=False"]);
        await after.PayAsync();

        await Eventually.HoldsAsync(
            async () => (await Rig.PostsAsync()) is { Default: > 5, Fallback: > 5 }, "the others are tried");
        Assert.Equal(posts, (await _third.CallsAsync()).Posts);
        Assert.Contains(
            "\"third\":{\"totalRequests\":1,\"totalAmount\":19.90}", await after.GetAsync("payments-summary"),
            StringComparison.Ordinal);
        await Rig.Default.SetFailureAsync(false);
        await SettledAsync(2);
    }

    // A processor whose health says that it fails gets no payment, so the epoch has used it only after it was tried.
    private async Task<Guid> PaidAndTriedByAllAsync(GatewayHost gateway)
    {
        var id = await gateway.PayAsync();
        await Eventually.HoldsAsync(
            async () => await Rig.PostsAsync() is { Default: > 0, Fallback: > 0 }
                && (await _third.CallsAsync()).Posts > 0,
            "all are tried");
        return id;
    }

    private Task SettledAsync(int payments) => Eventually.HoldsAsync(
        async () => await Rig.CountSettledAsync() == payments, $"{payments} payments are settled");
}

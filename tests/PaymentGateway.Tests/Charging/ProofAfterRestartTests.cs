namespace PaymentGateway.Tests.Charging;

/// <summary>What a processor has said outlives the instance that heard it.</summary>
public sealed class ProofAfterRestartTests : OwnRig
{
    private OddProcessor _odd = null!;

    private string[] Settings =>
    [
        $"Processors:default:BaseUrl={_odd.BaseAddress}", "Settling:CallTimeout=300ms", "Settling:ConnectTimeout=200ms",
        "Settling:InDoubtHorizon=500ms", "Settling:DrainTimeout=0s", "Routing:FallbackAfter=0s",
    ];

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _odd = await OddProcessor.StartAsync();
    }

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        await _odd.DisposeAsync();
    }

    [PostgresTheory]
    [InlineData("stop")]
    [InlineData("close")]   // As after a kill: nothing is released, and the epoch is adopted.
    public async Task A_payment_that_default_says_it_has_goes_nowhere_else_after_its_owner(string end)
    {
        var gateway = await Rig.StartGatewayAsync(Settings);
        await gateway.PayAsync();
        await Eventually.HoldsAsync(async () => await Rig.CountSettledAsync() == 1, "one is known to be at default");
        var id = Guid.NewGuid();
        (_odd.LosesAnswer, _odd.Hides) = (one => one == id, one => one == id);
        await Eventually.HoldsAsync(
            async () => await gateway.PayAsync(id) == HttpStatusCode.Accepted && _odd.Duplicates > 0,
            "default says that it has the payment");
        await Eventually.HoldsAsync(
            () => Rig.Database.ScalarAsync<bool>(
                $"SELECT coalesce(held_by, 0) = 1 FROM payments WHERE correlation_id = '{id}'"),
            "its word is stored");
        _odd.IsFailing = true;
        var epoch = gateway.Epoch.Number;
        if (end == "close")
        {
            await Rig.Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {epoch}");
        }
        else
        {
            await Rig.StopGatewayAsync(gateway);
            gateway = await Rig.StartGatewayAsync(Settings);
        }

        await Eventually.HoldsAsync(
            () => gateway.Epoch.Number > epoch && gateway.Epoch.Doubts.Count == 1, "it is adopted");
        // Twice its lease and horizon.
        await Task.Delay(TimeSpan.FromSeconds(8));

        Assert.Equal(0, (await Rig.PostsAsync()).Fallback);
        _odd.Hides = _ => false;
        await Eventually.HoldsAsync(async () => await Rig.CountSettledAsync() == 2, "it is settled");
        Assert.Equal(2, _odd.Stored.Count);
    }

    // What another instance has settled was charged before this payment's horizon, so it proves nothing.
    [PostgresFact]
    public async Task After_a_restart_a_404_proves_nothing_until_another_payment_is_settled_there()
    {
        var before = await Rig.StartGatewayAsync(Settings);
        await before.PayAsync();
        await Eventually.HoldsAsync(async () => await Rig.CountSettledAsync() == 1, "one is known to be at default");
        await Rig.StopGatewayAsync(before);
        var after = await Rig.StartGatewayAsync(Settings);
        var id = Guid.NewGuid();
        _odd.LosesCharge = one => one == id;
        await Eventually.HoldsAsync(
            async () => await after.PayAsync(id) == HttpStatusCode.Accepted && _odd.Posts > 1, "it is charged");

        var lookUps = _odd.LookUps;
        await Eventually.HoldsAsync(() => _odd.LookUps > lookUps + 5, "it is looked up again and again");
        Assert.Equal(0, (await Rig.PostsAsync()).Fallback);

        await PaysUntilAsync(
            after, async () => (await Rig.Fallback.PaymentsAsync()).ContainsKey(id), "it is released");
        Assert.DoesNotContain(id, _odd.Stored.Keys);
    }

    // Fallback never settled anything, so nothing proves that the payment is not there: it is charged there again.
    [PostgresFact]
    public async Task A_payment_that_may_be_anywhere_is_charged_again_with_the_time_of_this_charge()
    {
        var gateway = await Rig.StartGatewayAsync("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s");
        await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);

        await Rig.Database.ExecuteAsync($"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at)
            VALUES (gen_random_uuid(), 1990, clock_timestamp(), 0, {Known.AtBoth.Bits})
            """);

        await PaysUntilAsync(gateway, async () => (await Rig.PostsAsync()).Fallback == 1, "it is charged at fallback");
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(
                "SELECT (SELECT count(*) FROM payments) - (SELECT count(*) FROM settlements)") == 0, "all is settled");
        await Rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, await Rig.Database.ScalarAsync<long>(
            "SELECT count(*) FROM settlements WHERE requested_at NOT BETWEEN accepted_at AND now()"));
    }

    // Payments that default settles show after a horizon what its 404 is worth.
    private static Task PaysUntilAsync(GatewayHost gateway, Func<Task<bool>> condition, string what) =>
        Eventually.HoldsAsync(
            async () => await gateway.PayAsync() != default && await condition(), what, TimeSpan.FromMinutes(1));
}

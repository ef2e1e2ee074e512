
namespace PaymentGateway.Tests.Leasing;

/// <summary>How a whole gateway settles what a dead owner left, by whether that one had used fallback.</summary>
public sealed class OrphanAdoptionTests : OwnRig
{
    private const string NeverOver = "Settling:InDoubtHorizon=1800s";

    private static readonly TimeSpan Horizon = TimeSpan.FromSeconds(2);

    [PostgresFact]
    public async Task Payments_of_an_owner_that_used_fallback_are_looked_up_at_both_and_wait_for_the_horizon()
    {
        // So long that each that is found nowhere is looked up again within it.
        var horizon = TimeSpan.FromSeconds(5);
        var left = await LeaveAsync(usedFallback: true, 30);
        await ChargeAsync(Rig.Default, left[..10]);
        await ChargeAsync(Rig.Fallback, left[10..20]);
        var from = DateTime.UtcNow;

        await Rig.StartGatewayAsync($"Settling:InDoubtHorizon={horizon.TotalSeconds}s", "Settling:CallTimeout=5s");

        await Rig.LedgersReachAsync(byDefault: 20, byFallback: 10);
        await Rig.AssertLedgersAgreeAsync();
        var stored = await Rig.Default.PaymentsAsync();
        Assert.All(left[20..], id => Assert.True(
            stored[id].RequestedAt.UtcDateTime - from >= horizon, $"{stored[id].RequestedAt.UtcDateTime - from}"));
        var (atDefault, atFallback) = (await Rig.Default.CallsAsync(), await Rig.Fallback.CallsAsync());
        // Ten of them are found at default at once, and not asked for at fallback.
        Assert.True(atDefault.Lookups > 30 && atFallback.Lookups > 20, $"{atDefault.Lookups}, {atFallback.Lookups}");
        Assert.Equal(0, atDefault.Duplicates422 + atFallback.Duplicates422);
    }

    [PostgresFact]
    public async Task An_adopted_payment_goes_to_fallback_only_past_the_horizon_and_after_the_epoch_has_marked_that()
    {
        await LeaveAsync(usedFallback: false, 10);
        await Rig.Default.SetFailureAsync(true);
        var from = DateTime.UtcNow;

        var gateway = await Rig.StartGatewayAsync(
            "Routing:FallbackAfter=0s", "Settling:CallTimeout=2s",
            $"Settling:InDoubtHorizon={Horizon.TotalSeconds}s");

        await Rig.LedgersReachAsync(byDefault: 0, byFallback: 10);
        await Rig.AssertLedgersAgreeAsync();
        Assert.All(
            (await Rig.Fallback.PaymentsAsync()).Values,
            stored => Assert.True(stored.RequestedAt.UtcDateTime - from >= Horizon));
        Assert.True((await Rig.Default.CallsAsync()).Lookups >= 10);
        Assert.True(await IsMarkedAsync(gateway.Part<Lease>().Epoch));
    }

    [PostgresFact]
    public async Task A_payment_that_a_dead_owners_call_stores_late_never_goes_to_fallback_before_the_horizon()
    {
        var left = await LeaveAsync(usedFallback: false, 5);
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 5 });
        var late = ChargeAsync(Rig.Default, left);
        await Rig.Default.HoldsAsync(5);
        await Rig.Default.SetFailureAsync(true);

        var gateway = await Rig.StartGatewayAsync("Routing:FallbackAfter=0s", NeverOver);
        // One that nobody ever sent passes them by.
        await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 0, byFallback: 1);
        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Lookups >= 15, "each was asked for, again and again");
        await Rig.Default.ClearFaultsAsync();
        await late;

        await Rig.LedgersReachAsync(byDefault: 5, byFallback: 1);
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task The_database_knows_that_fallback_is_used_before_the_first_charge_leaves()
    {
        var gateway = await Rig.StartGatewayAsync("Routing:FallbackAfter=0s", "Leasing:LeaseDuration=60s");
        var lease = gateway.Part<Lease>();
        await Rig.Default.SetFailureAsync(true);
        // Nothing is committed on its lease while this is held; acceptances only read it.
        await using var held = await Rig.Database.HoldAsync(
            $"SELECT 1 FROM leases WHERE epoch = {lease.Epoch} FOR UPDATE");

        for (var i = 0; i < 10; i++)
            await gateway.PayAsync();
        await Eventually.HoldsAsync(() => lease.Wanted.Contains(Known.Fallback), "fallback is requested");
        var released = DateTime.UtcNow;
        await held.ExecuteAsync("ROLLBACK");

        await Rig.LedgersReachAsync(byDefault: 0, byFallback: 10);
        Assert.All(
            (await Rig.Fallback.PaymentsAsync()).Values,
            stored => Assert.True(stored.RequestedAt.UtcDateTime >= released));
        Assert.True(await IsMarkedAsync(lease.Epoch));
    }

    private Task<bool> IsMarkedAsync(int epoch) => Rig.Database.LeaseAsync<bool>(epoch, "used_processors & 4 <> 0");

    /// <summary>An epoch that ended with these payments unsettled.</summary>
    private async Task<Guid[]> LeaveAsync(bool usedFallback, int count)
    {
        var epoch = await Rig.Database.OpenEpochAsync();
        var left = await Rig.Database.StoreAsync(epoch, count);
        Assert.True((await Rig.Database.Leases.RenewAsync(Batches.Renewal(epoch, 1, usedFallback))).Renewed);
        await Rig.Database.Leases.CloseAsync(epoch);
        return left.Ids;
    }

    /// <summary>The charges of the dead owner.</summary>
    private static async Task ChargeAsync(SimulatedProcessor processor, Guid[] ids)
    {
        var charges = ids.Select((id, at) => processor.Client.PostAsJsonAsync("payments", new
        {
            correlationId = id,
            amount = 19.90m,
            requestedAt = Batches.Noon.AddMilliseconds(at),
        }));
        Assert.All(await Task.WhenAll(charges), answer => Assert.Equal(HttpStatusCode.OK, answer.StatusCode));
    }
}

using PaymentGateway.Processors;
using Polly.CircuitBreaker;

namespace PaymentGateway.Tests.Settling;

/// <summary>A payment that may have been charged, in a whole gateway.</summary>
public sealed class DoubtResolverTests : OwnRig
{
    private static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Horizon = TimeSpan.FromSeconds(2);

    [PostgresTheory]
    [InlineData("hang")]
    [InlineData("reset")]
    [InlineData("errorBody")]
    public async Task A_payment_that_was_stored_without_a_sound_answer_is_settled_there_once_as_it_was_stored(
        string fault)
    {
        await Rig.Default.SetFaultsAsync(new { afterInsert = fault, times = 1 });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s");

        await gateway.PayAsync();

        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.AssertLedgersAgreeAsync();
        Assert.Equal(1, (await Rig.Default.CallsAsync()).Posts);
        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_never_goes_to_the_other_processor_before_the_horizon()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s", "Settling:InDoubtHorizon=1800s");
        await gateway.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);
        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Lookups >= 3, "default was asked three times");

        await gateway.PayAsync(); // A payment that is not in doubt goes to fallback at once.

        await Rig.LedgersReachAsync(byDefault: 0, byFallback: 1);
        await Rig.Default.ClearFaultsAsync(); // The call that hung goes on and is stored.
        await Rig.LedgersReachAsync(byDefault: 1, byFallback: 1);
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_payment_that_is_stored_nowhere_after_the_horizon_may_go_to_the_other_processor()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s");
        var id = await gateway.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);

        await Rig.LedgersReachAsync(byDefault: 0, byFallback: 1);

        var (acceptedAt, requestedAt) = await TimesAsync(id);
        Assert.True(requestedAt - acceptedAt >= CallTimeout + Horizon, $"{requestedAt - acceptedAt}");
        await EndedOnceAsync(gateway, "not_charged");
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_is_charged_again_at_the_same_processor_with_the_same_time()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s", "Settling:InDoubtHorizon=1800s");

        var id = await gateway.PayAsync();
        await Rig.Default.HoldsAsync(1);
        var firstCallSeen = DateTime.UtcNow;

        await Rig.LedgersReachAsync(byDefault: 1);
        var (_, requestedAt) = await TimesAsync(id);
        Assert.True(requestedAt < firstCallSeen, "the time is the first call's");
        await EndedOnceAsync(gateway, "charged_again");
        await Rig.Default.ClearFaultsAsync(); // The first call goes on and is a duplicate now.
        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Duplicates422 == 1, "the first call ended");
        await Rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresTheory]
    [InlineData("tooMany")]
    [InlineData("errorBody")]
    [InlineData("garbage")]
    public async Task Without_an_answer_to_look_ups_a_payment_stays_where_it_was_charged(string fault)
    {
        await Rig.Default.SetFaultsAsync(new { afterInsert = "reset", lookUp = fault });
        // Hardly any horizon: only the look-up stands between the payment and the other processor.
        var gateway = await Rig.StartGatewayAsync(
            "Routing:FallbackAfter=0s", "Settling:CallTimeout=1s", "Settling:InDoubtHorizon=1s");
        await gateway.PayAsync();
        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 1, "it is in doubt");
        await Rig.Default.SetFailureAsync(true);
        // A charge that is repeated before the horizon begins it anew, once at most.
        var since = Stopwatch.GetTimestamp();
        await Eventually.HoldsAsync(() => Stopwatch.GetElapsedTime(since).TotalSeconds > 2, "its horizon is past");
        var lookUps = (await Rig.Default.CallsAsync()).Lookups;
        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Lookups >= lookUps + 2, "it was looked up after the horizon");

        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
        await Rig.Default.ClearFaultsAsync();

        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_that_is_purged_is_not_charged_again()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await StartGatewayAsync("Settling:InDoubtHorizon=1800s");
        await gateway.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);
        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 1, "it is in doubt");

        Assert.Equal(HttpStatusCode.OK, await gateway.PurgeAsync());

        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 0, "it is given up");
        Assert.Equal(0, gateway.Part<UnsettledPayments>().Count);
        await Rig.Default.SetFailureAsync(false);
        var id = await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        Assert.Equal(id, Assert.Single(await Rig.Default.PaymentsAsync()).Key);
    }

    // The charge's own check would send nothing either, but four such exceptions open the circuit.
    [PostgresFact]
    public async Task Payments_that_are_purged_before_their_look_ups_end_leave_the_circuit_closed()
    {
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        // The first look-up hangs, and the others wait for its permit.
        var gateway = await Rig.StartGatewayAsync("Settling:LookupConcurrency=1");
        var (clock, epoch) = (gateway.Part<TimeProvider>(), gateway.Part<Lease>().Epoch);
        var payments = Enumerable.Range(0, 7).Select(_ => new Payment(Guid.NewGuid(), 1990, DateTime.UtcNow, epoch)
        {
            MayBeAt = Known.AtDefault,
            DoubtSince = clock.GetTimestamp(),
        }).ToList();
        payments.ForEach(gateway.Part<DoubtQueue>().Add);
        await Rig.Default.HoldsAsync(1);

        payments.ForEach(payment => payment.Purged = true);
        await Rig.Default.ClearFaultsAsync();

        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 0, "they are given up");
        Assert.Equal(CircuitState.Closed, gateway.Part<ProcessorLanes>().Of(Known.Default).Health.Circuit.CircuitState);
        Assert.Equal(0, (await Rig.Default.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task An_instance_that_lost_its_epoch_leaves_its_payments_to_whoever_adopts_them()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync();
        var doubtful = await gateway.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);
        for (var i = 0; i < 9; i++)
            await gateway.PayAsync();
        var lost = gateway.Part<Lease>().Epoch;

        await Rig.Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {lost}");

        await Eventually.HoldsAsync(() => gateway.Part<Lease>().Epoch > lost, "the next epoch begins");
        await Rig.Default.ClearFaultsAsync();
        await Rig.Default.SetFailureAsync(false);
        await Rig.LedgersReachAsync(byDefault: 10);
        await Rig.AssertLedgersAgreeAsync();
        Assert.Contains(doubtful, (await Rig.Default.PaymentsAsync()).Keys);
        await Eventually.HoldsAsync(() => gateway.Part<UnsettledPayments>().Count == 0, "nothing stays unsettled");
    }

    private Task<GatewayHost> StartGatewayAsync(params string[] settings) => Rig.StartGatewayAsync(
    [
        $"Settling:CallTimeout={CallTimeout.TotalSeconds}s", $"Settling:InDoubtHorizon={Horizon.TotalSeconds}s",
        .. settings,
    ]);

    // One doubt, this way and no other.
    private static async Task EndedOnceAsync(GatewayHost gateway, string resolution)
    {
        var ended = Prometheus.Read(await gateway.GetAsync("metrics")).Where(sample =>
            sample.Key.Contains("doubts_resolved", StringComparison.Ordinal) && sample.Value != 0);

        Assert.Equal(
            KeyValuePair.Create($"payment_gateway_doubts_resolved_total{{resolution=\"{resolution}\"}}", 1d),
            Assert.Single(ended));
    }

    private async Task<(DateTime AcceptedAt, DateTime RequestedAt)> TimesAsync(Guid id)
    {
        var where = $"WHERE correlation_id = '{id}'";
        return (
            await Rig.Database.ScalarAsync<DateTime>($"SELECT accepted_at FROM payments {where}"),
            await Rig.Database.ScalarAsync<DateTime>($"SELECT requested_at FROM settlements {where}"));
    }
}

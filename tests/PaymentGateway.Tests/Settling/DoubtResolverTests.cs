using PaymentGateway.Processors;
using Polly.CircuitBreaker;

namespace PaymentGateway.Tests.Settling;

/// <summary>What becomes of a payment that may have been charged, in a whole gateway.</summary>
public sealed class DoubtResolverTests : IAsyncLifetime
{
    private static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Horizon = TimeSpan.FromSeconds(2);

    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task A_payment_that_was_stored_and_then_timed_out_is_settled_there_once_as_it_was_stored()
    {
        await _rig.Default.SetFaultsAsync(new { afterInsert = "hang", times = 1 });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s");

        await gateway.PayAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(1, (await _rig.Default.CallsAsync()).Posts);
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresTheory]
    [InlineData("reset")]
    [InlineData("errorBody")]
    public async Task A_payment_whose_answer_broke_after_the_insert_is_settled_there_once(string fault)
    {
        await _rig.Default.SetFaultsAsync(new { afterInsert = fault, times = 1 });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s");

        await gateway.PayAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_never_goes_to_the_other_processor_before_the_horizon()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s", "Settling:InDoubtHorizon=1800s");
        await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);
        await _rig.Default.SetFailureAsync(true);
        await Eventually.HoldsAsync(
            async () => (await _rig.Default.CallsAsync()).Lookups >= 3, "default was asked three times");

        await gateway.PayAsync(); // One that is not in doubt goes to the fallback at once.

        await _rig.LedgersReachAsync(byDefault: 0, byFallback: 1);
        await _rig.Default.ClearFaultsAsync(); // The call that hung goes on and is stored.
        await _rig.LedgersReachAsync(byDefault: 1, byFallback: 1);
        await _rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_payment_that_is_stored_nowhere_after_the_horizon_may_go_to_the_other_processor()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s");
        var id = await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);
        await _rig.Default.SetFailureAsync(true);

        await _rig.LedgersReachAsync(byDefault: 0, byFallback: 1);

        var (acceptedAt, requestedAt) = await TimesAsync(id);
        Assert.True(requestedAt - acceptedAt >= CallTimeout + Horizon, $"{requestedAt - acceptedAt}");
        await EndedOnceAsync(gateway, "not_charged");
        await _rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_is_charged_again_at_the_same_processor_with_the_same_time()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await StartGatewayAsync("Routing:FallbackAfter=0s", "Settling:InDoubtHorizon=1800s");

        var id = await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);
        var firstCallSeen = DateTime.UtcNow;

        await _rig.LedgersReachAsync(byDefault: 1);
        var (_, requestedAt) = await TimesAsync(id);
        Assert.True(requestedAt < firstCallSeen, "the time is the first call's");
        await EndedOnceAsync(gateway, "charged_again");
        await _rig.Default.ClearFaultsAsync(); // The first call goes on and is a duplicate now.
        await Eventually.HoldsAsync(
            async () => (await _rig.Default.CallsAsync()).Duplicates422 == 1, "the first call ended");
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_that_is_purged_is_not_charged_again()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await StartGatewayAsync("Settling:InDoubtHorizon=1800s");
        await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);
        await _rig.Default.SetFailureAsync(true);
        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 1, "it is in doubt");

        Assert.Equal(HttpStatusCode.OK, await gateway.PurgeAsync());

        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 0, "it is given up");
        Assert.Equal(0, gateway.Part<UnsettledPayments>().Count);
        await _rig.Default.SetFailureAsync(false);
        var id = await gateway.PayAsync();
        await _rig.LedgersReachAsync(byDefault: 1);
        Assert.Equal(id, Assert.Single(await _rig.Default.PaymentsAsync()).Key);
    }

    // The charge's own check would send nothing either, but four such exceptions open the circuit.
    [PostgresFact]
    public async Task Payments_that_are_purged_before_their_look_ups_end_leave_the_circuit_closed()
    {
        await _rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        // The first look-up hangs, and the others wait for its permit.
        var gateway = await _rig.StartGatewayAsync("Settling:LookupConcurrency=1");
        var (clock, epoch) = (gateway.Part<TimeProvider>(), gateway.Part<Lease>().Epoch);
        var payments = Enumerable.Range(0, 7).Select(_ => new Payment(Guid.NewGuid(), 1990, DateTime.UtcNow, epoch)
        {
            InDoubt = true,
            ChargedAt = Processor.Default,
            DoubtSince = clock.GetTimestamp(),
        }).ToList();
        payments.ForEach(gateway.Part<DoubtQueue>().Add);
        await _rig.Default.HoldsAsync(1);

        payments.ForEach(payment => payment.Purged = true);
        await _rig.Default.ClearFaultsAsync();

        await Eventually.HoldsAsync(() => gateway.Part<DoubtQueue>().Count == 0, "they are given up");
        Assert.Equal(CircuitState.Closed, gateway.Part<ProcessorLanes>().Default.Health.Circuit.CircuitState);
        Assert.Equal(0, (await _rig.Default.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task An_instance_that_lost_its_epoch_leaves_its_payments_to_whoever_adopts_them()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var gateway = await StartGatewayAsync();
        var doubtful = await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);
        await _rig.Default.SetFailureAsync(true);
        for (var i = 0; i < 9; i++)
            await gateway.PayAsync();
        var lost = gateway.Part<Lease>().Epoch;

        await _rig.Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {lost}");

        await Eventually.HoldsAsync(() => gateway.Part<Lease>().Epoch > lost, "the next epoch begins");
        await _rig.Default.ClearFaultsAsync();
        await _rig.Default.SetFailureAsync(false);
        await _rig.LedgersReachAsync(byDefault: 10);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Contains(doubtful, (await _rig.Default.PaymentsAsync()).Keys);
        await Eventually.HoldsAsync(() => gateway.Part<UnsettledPayments>().Count == 0, "nothing stays unsettled");
    }

    [PostgresFact]
    public async Task A_payment_that_a_processor_rejects_is_parked_and_delays_no_other()
    {
        await _rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var gateway = await StartGatewayAsync();

        var rejected = await gateway.PayAsync();
        await DefaultHasPostsAsync(1);
        await gateway.PayAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        await IsParkedAsync(gateway, rejected);
        Assert.Equal(2, (await _rig.Default.CallsAsync()).Posts);
        await Eventually.HoldsAsync(() => gateway.Part<UnsettledPayments>().Count == 0, "nothing stays unsettled");
    }

    [PostgresTheory]
    [InlineData(401)]
    [InlineData(404)]
    public async Task Answers_of_an_intermediary_park_nothing_and_all_is_settled_afterwards(int status)
    {
        await _rig.Default.SetFaultsAsync(new { status });
        var gateway = await StartGatewayAsync();

        for (var i = 0; i < 50; i++)
            await gateway.PayAsync();
        // The circuit opens at the fourth, so a probe is among them.
        await DefaultHasPostsAsync(6);

        await _rig.Default.ClearFaultsAsync();
        await _rig.LedgersReachAsync(byDefault: 50);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(PaymentViews.NoPayments, await gateway.GetAsync(PaymentViews.ParkedPath));
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    private Task<GatewayHost> StartGatewayAsync(params string[] settings) => _rig.StartGatewayAsync(
    [
        $"Settling:CallTimeout={CallTimeout.TotalSeconds}s", $"Settling:InDoubtHorizon={Horizon.TotalSeconds}s",
        .. settings,
    ]);

    private Task DefaultHasPostsAsync(long count) => Eventually.HoldsAsync(
        async () => (await _rig.Default.CallsAsync()).Posts >= count, "the charge is at default");

    // One doubt, this way and no other.
    private static async Task EndedOnceAsync(GatewayHost gateway, string resolution)
    {
        var ended = Prometheus.Read(await gateway.GetAsync("metrics")).Where(sample =>
            sample.Key.Contains("doubts_resolved", StringComparison.Ordinal) && sample.Value != 0);

        Assert.Equal(
            KeyValuePair.Create($"payment_gateway_doubts_resolved_total{{resolution=\"{resolution}\"}}", 1d),
            Assert.Single(ended));
    }

    private static Task IsParkedAsync(GatewayHost gateway, Guid id) => Eventually.HoldsAsync(
        async () => (await gateway.GetAsync(PaymentViews.ParkedPath)).Contains(
            id.ToString(), StringComparison.Ordinal),
        "it is parked");

    private async Task<(DateTime AcceptedAt, DateTime RequestedAt)> TimesAsync(Guid id)
    {
        var where = $"WHERE correlation_id = '{id}'";
        return (
            await _rig.Database.ScalarAsync<DateTime>($"SELECT accepted_at FROM payments {where}"),
            await _rig.Database.ScalarAsync<DateTime>($"SELECT requested_at FROM settlements {where}"));
    }
}

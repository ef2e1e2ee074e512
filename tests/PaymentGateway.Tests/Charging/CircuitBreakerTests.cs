namespace PaymentGateway.Tests.Charging;

public sealed class CircuitBreakerTests : OneLane
{
    private static readonly TimeSpan ProbeInterval = TimeSpan.FromSeconds(0.5);

    private ProcessorLane Lane => Lanes.Default;

    private Availability Now => Lane.Health.Read().Availability;

    [Fact]
    public async Task A_failed_probe_keeps_the_circuit_open_a_successful_one_closes_it_and_each_turn_is_logged_once()
    {
        await OpenCircuitAsync();
        Clock.Advance(ProbeInterval);
        Assert.Equal(ChargeResult.Refused, await ChargeAsync(Batches.NewPayment()));
        Assert.Equal(Availability.Unusable, Now);

        await Simulator.SetFailureAsync(false);
        Clock.Advance(ProbeInterval);
        Assert.Equal(Availability.Probe, Now);
        Assert.Equal(ChargeResult.Settled, await ChargeAsync(Batches.NewPayment()));

        Assert.Equal(Availability.Usable, Now);
        Assert.All(await ChargeManyAsync(10), result => Assert.Equal(ChargeResult.Settled, result));
        Assert.Equal(
            ["The circuit of default opened: 500", "The circuit of default closed"],
            Lanes.ShownOf<ProcessorClient>());
    }

    [Fact]
    public async Task One_probe_is_in_flight_at_a_time()
    {
        await OpenCircuitAsync();
        await Simulator.SetFailureAsync(false);
        await Simulator.SetFaultsAsync(new { beforeInsert = "hang" });
        Clock.Advance(ProbeInterval);
        var posts = (await Simulator.CallsAsync()).Posts;
        var probe = ChargeAsync(Batches.NewPayment());
        await Eventually.HoldsAsync(async () => (await Simulator.CallsAsync()).Posts > posts, "the probe is out");

        // However long it takes.
        Clock.Advance(CallTimeout - TimeSpan.FromSeconds(1));
        Assert.Equal((Circuit.HalfOpen, Availability.Unusable), (Lane.Health.Circuit, Now));
        await Simulator.ClearFaultsAsync();

        Assert.Equal(ChargeResult.Settled, await probe);
        Assert.Equal(posts + 1, (await Simulator.CallsAsync()).Posts);
    }

    [Fact]
    public async Task Look_ups_bypass_an_open_circuit()
    {
        var payment = Batches.NewPayment();
        await ChargeAsync(payment);
        await OpenCircuitAsync();

        var found = await Lane.Client.LookUpAsync(payment.Id);

        Assert.Equal(LookupResult.Found, found.Result);
    }

    [Fact]
    public async Task A_422_does_not_count_as_a_failure_of_the_processor()
    {
        var stored = Enumerable.Range(0, 10).Select(_ => Batches.NewPayment()).ToList();
        await Simulator.PlantAsync(stored.Select(
            one => new PaymentGateway.Tests.Support.ProcessorPayment(one.Id, one.Amount, Batches.Noon)));

        foreach (var payment in stored)
        {
            Assert.Equal(ChargeResult.AlreadyStored, await ChargeAsync(payment));
            Clock.Advance(TimeSpan.FromSeconds(0.1));
        }

        Assert.Equal(Availability.Usable, Now);
    }

    [Theory]
    [InlineData(true, null)]   // The contract's failure.
    [InlineData(false, null)]  // 200 with a page.
    [InlineData(false, 400)]   // One is its payment's fault, many are the processor's.
    [InlineData(false, 401)]
    [InlineData(false, 404)]
    [InlineData(false, 408)]
    public async Task A_processor_that_fails_or_answers_as_none_is_left_alone_after_a_few_calls_and_no_other(
        bool fails, int? status)
    {
        await Simulator.SetFailureAsync(fails);
        await Simulator.SetFaultsAsync(new { status, garbage = !fails && status is null });

        var results = await ChargeManyAsync(10);

        Assert.Equal(fails ? 4 : 0, results.Count(result => result == ChargeResult.Refused));
        Assert.Equal(4, results.Count);
        Assert.Equal(4, (await Simulator.CallsAsync()).Posts);
        Assert.Equal((Availability.Unusable, Availability.Usable), (Now, Lanes.Fallback.Health.Read().Availability));
    }

    [Fact]
    public async Task A_single_400_leaves_the_circuit_closed()
    {
        await ChargeManyAsync(5);
        await Simulator.SetFaultsAsync(new { status = 400, times = 1 });

        Assert.Equal(ChargeResult.Rejected, await ChargeAsync(Batches.NewPayment()));

        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public async Task A_refused_repetition_neither_resolves_nor_prolongs_the_doubt_of_the_call_before_it()
    {
        await Simulator.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
        var payment = Batches.NewPayment();
        Assert.Equal(ChargeResult.Unclear, await ChargeAsync(payment));
        var since = payment.DoubtSince;
        await Simulator.SetFailureAsync(true);
        Clock.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(ChargeResult.Refused, await ChargeAsync(payment));
        Assert.Equal(since, payment.DoubtSince);

        Assert.Equal(Known.AtDefault, payment.MayBeAt);
    }

    private async Task OpenCircuitAsync()
    {
        await Simulator.SetFailureAsync(true);
        await ChargeManyAsync(10);
        Assert.Equal((Circuit.Open, Availability.Unusable), (Lane.Health.Circuit, Now));
    }

    // Ten in a second at most, until the processor is left alone.
    private async Task<List<ChargeResult>> ChargeManyAsync(int count)
    {
        var results = new List<ChargeResult>();
        while (results.Count < count && Now != Availability.Unusable)
        {
            results.Add(await ChargeAsync(Batches.NewPayment()));
            if (Now != Availability.Unusable)
                Clock.Advance(TimeSpan.FromSeconds(0.1));
        }

        return results;
    }

    private async Task<ChargeResult> ChargeAsync(Payment payment)
    {
        Assert.True(Lane.TryAcquire());
        return (await Lane.ChargeAsync(payment)).Result;
    }
}

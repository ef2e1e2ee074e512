using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Processors;

/// <summary>The circuit breaker of a lane, over time.</summary>
public sealed class CircuitBreakerTests : IAsyncLifetime
{
    private static readonly TimeSpan ProbeInterval = TimeSpan.FromSeconds(0.5);

    private readonly FakeTimeProvider _clock = new();
    private SimulatedProcessor _processor = null!;
    private Lanes _lanes = null!;

    private ProcessorLane Lane => _lanes.Default;

    private Availability Now => Lane.Health.Read().Availability;

    public async Task InitializeAsync()
    {
        _processor = await SimulatedProcessor.StartAsync();
        _lanes = Lanes.Build(_processor.BaseAddress, _processor.BaseAddress, _clock);
    }

    public async Task DisposeAsync()
    {
        await _processor.ClearFaultsAsync();
        _lanes.Dispose();
        await _processor.DisposeAsync();
    }

    [Fact]
    public async Task A_processor_that_fails_is_left_alone_after_a_few_calls()
    {
        await _processor.SetFailureAsync(true);

        var results = await ChargeManyAsync(10);

        Assert.Equal(4, results.Count(result => result == ChargeResult.Refused));
        Assert.Equal(6, results.Count(result => result == ChargeResult.NotSent));
        Assert.Equal(4, (await _processor.CallsAsync()).Posts);
        Assert.Equal(Availability.Unusable, Now);
    }

    [Fact]
    public async Task A_successful_probe_closes_the_circuit()
    {
        await OpenCircuitAsync();
        await _processor.SetFailureAsync(false);
        _clock.Advance(ProbeInterval + ProbeInterval / 5);
        Assert.Equal(Availability.Probe, Now);

        Assert.Equal(ChargeResult.Settled, await ChargeAsync(Lanes.NewPayment()));

        Assert.Equal(Availability.Usable, Now);
        Assert.All(await ChargeManyAsync(10), result => Assert.Equal(ChargeResult.Settled, result));
    }

    [Fact]
    public async Task A_failed_probe_keeps_the_circuit_open_for_another_interval()
    {
        await OpenCircuitAsync();
        _clock.Advance(ProbeInterval + ProbeInterval / 5);

        Assert.Equal(ChargeResult.Refused, await ChargeAsync(Lanes.NewPayment()));
        var unsent = Lanes.NewPayment();
        Assert.Equal((ChargeResult.NotSent, false), (await ChargeAsync(unsent), unsent.InDoubt));

        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(ProbeInterval + ProbeInterval / 5);
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public async Task The_log_says_once_why_the_circuit_opened_and_that_it_closed()
    {
        await OpenCircuitAsync();
        _clock.Advance(ProbeInterval + ProbeInterval / 5);
        Assert.Equal(ChargeResult.Refused, await ChargeAsync(Lanes.NewPayment()));
        await _processor.SetFailureAsync(false);
        _clock.Advance(ProbeInterval + ProbeInterval / 5);
        Assert.Equal(ChargeResult.Settled, await ChargeAsync(Lanes.NewPayment()));

        Assert.Equal(
            ["The circuit of Default opened: 500", "The circuit of Default closed"], _lanes.Log.Shown);
    }

    [Fact]
    public async Task One_probe_is_in_flight_at_a_time()
    {
        await OpenCircuitAsync();
        await _processor.SetFailureAsync(false);
        await _processor.SetFaultsAsync(new { beforeInsert = "hang" });
        _clock.Advance(ProbeInterval + ProbeInterval / 5);
        var posts = (await _processor.CallsAsync()).Posts;
        var probe = ChargeAsync(Lanes.NewPayment());
        await Eventually.HoldsAsync(async () => (await _processor.CallsAsync()).Posts > posts, "the probe is out");

        Assert.Equal(Availability.Unusable, Now);
        Assert.Equal(ChargeResult.NotSent, await ChargeAsync(Lanes.NewPayment()));
        await _processor.ClearFaultsAsync();

        Assert.Equal(ChargeResult.Settled, await probe);
        Assert.Equal(posts + 1, (await _processor.CallsAsync()).Posts);
    }

    [Fact]
    public async Task Look_ups_bypass_an_open_circuit()
    {
        var payment = Lanes.NewPayment();
        await ChargeAsync(payment);
        await OpenCircuitAsync();

        var found = await Lane.Client.LookUpAsync(payment.Id);

        Assert.Equal(LookupResult.Found, found.Result);
    }

    [Fact]
    public async Task The_circuit_of_one_processor_does_not_affect_the_other()
    {
        await OpenCircuitAsync();

        Assert.Equal(Availability.Usable, _lanes.Fallback.Health.Read().Availability);
    }

    [Fact]
    public async Task A_422_does_not_count_as_a_failure_of_the_processor()
    {
        var payment = Lanes.NewPayment();
        await ChargeAsync(payment);

        for (var i = 0; i < 10; i++)
            Assert.Equal(ChargeResult.AlreadyStored, await ChargeAsync(payment));

        Assert.Equal(Availability.Usable, Now);
    }

    [Theory]
    [InlineData(null)]  // 200 with a page.
    [InlineData(400)]   // One is its payment's fault, many are the processor's.
    [InlineData(401)]
    [InlineData(404)]
    [InlineData(408)]
    public async Task Answers_that_are_no_processors_open_the_circuit(int? status)
    {
        await _processor.SetFaultsAsync(new { status, garbage = status is null });

        var results = await ChargeManyAsync(10);

        Assert.Equal(6, results.Count(result => result == ChargeResult.NotSent));
        Assert.Equal(4, (await _processor.CallsAsync()).Posts);
        Assert.Equal(Availability.Unusable, Now);
    }

    [Fact]
    public async Task A_single_400_leaves_the_circuit_closed()
    {
        await ChargeManyAsync(5);
        await _processor.SetFaultsAsync(new { status = 400, times = 1 });

        Assert.Equal(ChargeResult.Rejected, await ChargeAsync(Lanes.NewPayment()));

        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public async Task A_refused_repetition_neither_resolves_nor_prolongs_the_doubt_of_the_call_before_it()
    {
        await _processor.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
        var payment = Lanes.NewPayment();
        Assert.Equal(ChargeResult.InDoubt, await ChargeAsync(payment));
        var since = payment.DoubtSince;
        await _processor.SetFailureAsync(true);
        _clock.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(ChargeResult.Refused, await ChargeAsync(payment));
        Assert.Equal(since, payment.DoubtSince);

        Assert.True(payment.InDoubt);
        Assert.Equal(Processor.Default, payment.ChargedAt);
    }

    private async Task OpenCircuitAsync()
    {
        await _processor.SetFailureAsync(true);
        while (await ChargeAsync(Lanes.NewPayment()) != ChargeResult.NotSent)
            Assert.True((await _processor.CallsAsync()).Posts < 20);
        _clock.Advance(ProbeInterval / 5); // The pause after a call that was thrown back.
    }

    private async Task<List<ChargeResult>> ChargeManyAsync(int count)
    {
        var results = new List<ChargeResult>();
        for (var i = 0; i < count; i++)
            results.Add(await ChargeAsync(Lanes.NewPayment()));
        return results;
    }

    private async Task<ChargeResult> ChargeAsync(Payment payment)
    {
        Assert.True(Lane.TryAcquire());
        return (await Lane.ChargeAsync(payment)).Result;
    }
}

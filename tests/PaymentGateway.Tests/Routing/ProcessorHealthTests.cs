using Polly;
using Polly.CircuitBreaker;

namespace PaymentGateway.Tests.Routing;

public sealed class ProcessorHealthTests
{
    private static readonly TimeSpan MaxLatency = TimeSpan.FromSeconds(1.2);
    private static readonly TimeSpan ProbeInterval = TimeSpan.FromSeconds(0.5);
    private static readonly TimeSpan HealthInterval = TimeSpan.FromSeconds(5.2);
    private static readonly TimeSpan Millisecond = TimeSpan.FromMilliseconds(1);

    private static readonly HealthReport Slow = new(false, TimeSpan.FromSeconds(2), TimeSpan.Zero);

    private readonly FakeTimeProvider _clock = new();
    private readonly ProcessorHealth _health;
    private readonly ResiliencePipeline _breaker;

    public ProcessorHealthTests()
    {
        _health = new ProcessorHealth(
            _clock,
            new RoutingOptions(TimeSpan.FromSeconds(10), MaxLatency, ProbeInterval, HealthInterval));
        _breaker = new ResiliencePipelineBuilder { TimeProvider = _clock }
            .AddCircuitBreaker(new CircuitBreakerStrategyOptions
            {
                MinimumThroughput = 2,
                BreakDuration = ProbeInterval,
                StateProvider = _health.Circuit,
            })
            .Build();
    }

    private Availability Now => _health.Read().Availability;

    [Fact]
    public void An_open_circuit_lets_one_probe_out_after_each_interval_until_one_succeeds()
    {
        OpenCircuit();
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(ProbeInterval - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(Millisecond);
        Assert.Equal(Availability.Probe, Now);

        Fail();
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(ProbeInterval);
        Assert.Equal(Availability.Probe, Now);

        Succeed();
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void The_state_says_for_how_long_a_processor_has_failed_or_not()
    {
        OpenCircuit();
        Assert.Equal(TimeSpan.Zero, _health.Read().SinceChange);

        _clock.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal(TimeSpan.FromSeconds(7), _health.Read().SinceChange);
        Succeed();
        Assert.Equal(TimeSpan.Zero, _health.Read().SinceChange);
        _clock.Advance(TimeSpan.FromSeconds(3));
        // A slow processor does not fail.
        _health.End(_health.Begin(), TimeSpan.FromSeconds(2), null);
        Assert.Equal(Availability.Probe, Now);
        Assert.Equal(TimeSpan.FromSeconds(3), _health.Read().SinceChange);
    }

    [Fact]
    public void A_processor_fails_by_its_circuit_its_newest_report_or_a_pause_and_not_by_being_slow()
    {
        _health.End(_health.Begin(), TimeSpan.FromSeconds(2), null);
        Assert.False(_health.Read().Fails);

        _clock.Advance(Millisecond);
        _health.Observe(new HealthReport(true, TimeSpan.FromSeconds(2), TimeSpan.Zero));
        Assert.True(_health.Read().Fails);
        _health.Observe(Slow);
        Assert.False(_health.Read().Fails);

        _health.End(probe: true, null, null);
        Assert.True(_health.Read().Fails);
        _clock.Advance(ProbeInterval);
        Assert.False(_health.Read().Fails);

        _health.End(false, null, TimeSpan.FromSeconds(1));
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_health.Read().Fails);
        _health.End(false, TimeSpan.FromMilliseconds(5), null);
        Assert.False(_health.Read().Fails);
        OpenCircuit();
        Assert.True(_health.Read().Fails);
    }

    [Theory]
    [InlineData(1200, "Usable")]
    [InlineData(1201, "Probe")]
    public void A_processor_slower_than_the_limit_gets_probes_only(int latencyMs, string expected)
    {
        _health.End(_health.Begin(), TimeSpan.FromMilliseconds(latencyMs), null);

        Assert.Equal(expected, Now.ToString());
    }

    [Fact]
    public void A_slow_probe_delays_the_next_one_by_a_second_at_most_and_a_quick_one_replaces_earlier_latencies()
    {
        _health.End(_health.Begin(), TimeSpan.FromSeconds(3), null);
        Assert.True(_health.Begin());
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(Availability.Probe, Now);

        _health.End(_health.Begin(), TimeSpan.FromMilliseconds(10), null);

        Assert.Equal(TimeSpan.FromMilliseconds(10), _health.Read().ExpectedLatency);
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void The_expected_latency_follows_the_calls_and_is_forgotten_without_any()
    {
        _health.End(false, TimeSpan.FromMilliseconds(100), null);
        _health.End(false, TimeSpan.FromMilliseconds(200), null);

        Assert.Equal(TimeSpan.FromMilliseconds(120), _health.Read().ExpectedLatency);
        _clock.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(TimeSpan.Zero, _health.Read().ExpectedLatency);
    }

    [Fact]
    public void A_processor_that_asked_for_a_pause_is_left_alone_for_it_and_then_gets_one_call_until_it_charges()
    {
        _health.End(_health.Begin(), null, TimeSpan.FromSeconds(5));
        _health.End(false, null, TimeSpan.FromSeconds(1)); // A shorter pause does not cut a longer one.

        _clock.Advance(TimeSpan.FromSeconds(5) - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(Millisecond);

        Assert.Equal(Availability.Probe, Now);
        Assert.True(_health.Begin());
        Assert.Equal(Availability.Unusable, Now);
        _health.End(true, null, TimeSpan.FromSeconds(1));
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_health.Begin());
        _health.End(true, TimeSpan.FromMilliseconds(5), null);
        Assert.Equal(Availability.Usable, Now);
    }

    [Theory]
    [InlineData(10.4)]
    [InlineData(1e9)] // It was never made.
    [InlineData(null)]
    public void A_processor_is_usable_without_a_health_report_and_once_it_is_old(double? ageSeconds)
    {
        if (ageSeconds is { } age)
            _health.Observe(new HealthReport(true, TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(age)));
        Assert.Equal(
            new ProcessorState(Availability.Usable, TimeSpan.Zero, false, TimeSpan.MaxValue), _health.Read());
        Assert.False(_health.Begin());

        _health.Observe(new HealthReport(true, TimeSpan.Zero, TimeSpan.Zero));
        Assert.Equal(Availability.Probe, Now);
        _clock.Advance(HealthInterval * 2);
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void A_processor_that_reports_itself_slow_is_not_probed()
    {
        _health.Observe(new HealthReport(false, TimeSpan.FromSeconds(2), TimeSpan.Zero));

        Assert.Equal(Availability.Unusable, Now);
        Assert.Equal(TimeSpan.FromSeconds(2), _health.Read().ExpectedLatency);
        _clock.Advance(HealthInterval);
        _health.Observe(new HealthReport(false, TimeSpan.FromMilliseconds(20), TimeSpan.Zero));
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void A_slow_processor_is_probed_when_it_reports_itself_quick_again()
    {
        _health.End(false, TimeSpan.FromSeconds(2), null);
        Assert.Equal(Availability.Probe, Now);

        _health.Observe(Slow);
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(Millisecond);
        _health.End(false, TimeSpan.FromSeconds(2), null); // Newer than its report, and the same.

        Assert.Equal(Availability.Unusable, Now);
        _health.Observe(new HealthReport(false, TimeSpan.Zero, TimeSpan.Zero));
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void A_processor_that_reports_itself_slow_is_probed_only_when_its_report_is_old_or_says_failing_too()
    {
        OpenCircuit();
        _health.Observe(Slow);

        // The next report is due after an interval; when the one after it is missing too, nobody knows.
        _clock.Advance(HealthInterval * 2 - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        _clock.Advance(Millisecond);
        Assert.Equal(Availability.Probe, Now);

        _health.Observe(Slow);
        Assert.Equal(Availability.Unusable, Now);
        _health.Observe(Slow with { Failing = true });
        Assert.Equal(Availability.Probe, Now);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void A_newer_quick_call_outweighs_the_report_of_being_slow_until_the_next_report(bool failing)
    {
        _health.Observe(Slow with { Failing = failing });
        _clock.Advance(Millisecond);

        _health.End(false, TimeSpan.FromMilliseconds(20), null);

        Assert.Equal(Availability.Usable, Now);
        _clock.Advance(TimeSpan.FromSeconds(2)); // The call counts no more, nor does what is older.
        Assert.Equal(Availability.Usable, Now);
        _health.Observe(Slow with { Failing = failing });
        Assert.Equal(failing ? Availability.Probe : Availability.Unusable, Now);
    }

    [Fact]
    public void A_processor_without_health_reports_is_unknown_and_then_dead_and_routing_takes_it_as_before()
    {
        Assert.Equal(Liveness.Alive, _health.ReadLiveness());
        _clock.Advance(HealthInterval * 2);
        Observe(age: HealthInterval * 100); // The last report is older than this instance.
        Assert.Equal(Liveness.Unknown, _health.ReadLiveness());
        _clock.Advance(HealthInterval * 2);
        Assert.Equal(Liveness.Unknown, _health.ReadLiveness()); // The record was not read since.
        Observe(age: HealthInterval * 102);
        Assert.Equal(Liveness.Dead, _health.ReadLiveness());
        Assert.Equal(Availability.Usable, Now);

        Observe(age: TimeSpan.Zero);
        Assert.Equal(Liveness.Alive, _health.ReadLiveness());
        _clock.Advance(HealthInterval * 4);
        Observe(age: HealthInterval * 4);
        Assert.Equal(Liveness.Dead, _health.ReadLiveness());
        Succeed(); // A charge that is answered shows the same as a report.
        Assert.Equal(Liveness.Alive, _health.ReadLiveness());
    }

    private void Observe(TimeSpan age) => _health.Observe(new HealthReport(false, TimeSpan.Zero, age));

    private void OpenCircuit()
    {
        Fail();
        Fail();
        Assert.Equal(CircuitState.Open, _health.Circuit.CircuitState);
    }

    private void Fail()
    {
        var probe = _health.Begin();
        Assert.Throws<IOException>(() => _breaker.Execute(() => throw new IOException()));
        _health.End(probe, null, null);
    }

    private void Succeed()
    {
        var probe = _health.Begin();
        _breaker.Execute(() => { });
        _health.End(probe, TimeSpan.FromMilliseconds(3), null);
    }
}

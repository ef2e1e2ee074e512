using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Configuring;
using PaymentGateway.Routing;
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

    private readonly FakeTimeProvider clock = new();
    private readonly ProcessorHealth health;
    private readonly ResiliencePipeline breaker;

    public ProcessorHealthTests()
    {
        health = new ProcessorHealth(
            clock,
            new RoutingOptions(
                RoutingPolicy.Cheapest, TimeSpan.FromSeconds(30), MaxLatency, ProbeInterval, HealthInterval));
        breaker = new ResiliencePipelineBuilder { TimeProvider = clock }
            .AddCircuitBreaker(new CircuitBreakerStrategyOptions
            {
                MinimumThroughput = 2,
                BreakDuration = ProbeInterval,
                StateProvider = health.Circuit,
            })
            .Build();
    }

    private Availability Now => health.Read().Availability;

    [Fact]
    public void A_processor_of_which_nothing_is_known_is_usable()
    {
        var state = health.Read();

        Assert.Equal(new ProcessorState(Availability.Usable, TimeSpan.Zero, TimeSpan.Zero), state);
        Assert.False(health.Begin());
    }

    [Fact]
    public void An_open_circuit_makes_a_processor_unusable_until_a_probe_is_due()
    {
        OpenCircuit();

        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(ProbeInterval - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(Millisecond);
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void There_is_one_probe_at_a_time()
    {
        OpenCircuit();
        clock.Advance(ProbeInterval);

        var probe = health.Begin();

        Assert.True(probe);
        Assert.Equal(Availability.Unusable, Now);
        Assert.False(health.Begin());
        clock.Advance(TimeSpan.FromSeconds(9)); // The breaker would throw a second one back, so it may take its time.
        Assert.Equal(Availability.Unusable, Now);
    }

    [Fact]
    public void A_failed_probe_is_followed_by_another_after_the_interval()
    {
        OpenCircuit();
        clock.Advance(ProbeInterval);

        Fail();

        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(ProbeInterval);
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void A_successful_probe_makes_a_processor_usable_at_once()
    {
        OpenCircuit();
        clock.Advance(ProbeInterval);

        Succeed();

        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void The_state_says_for_how_long_a_processor_has_been_out()
    {
        OpenCircuit();
        Assert.Equal(TimeSpan.Zero, health.Read().OutFor);

        clock.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal(TimeSpan.FromSeconds(7), health.Read().OutFor);
        Succeed();
        Assert.Equal(TimeSpan.Zero, health.Read().OutFor);
    }

    [Theory]
    [InlineData(1200, "Usable")]
    [InlineData(1201, "Probe")]
    public void A_processor_slower_than_the_limit_gets_probes_only(int latencyMs, string expected)
    {
        health.End(health.Begin(), TimeSpan.FromMilliseconds(latencyMs), null);

        Assert.Equal(expected, Now.ToString());
    }

    [Fact]
    public void A_slow_probe_does_not_prevent_the_next_one_for_longer_than_a_second()
    {
        health.End(health.Begin(), TimeSpan.FromSeconds(3), null);
        Assert.True(health.Begin());

        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void The_latency_of_a_probe_replaces_all_earlier_ones()
    {
        health.End(health.Begin(), TimeSpan.FromSeconds(3), null);
        var probe = health.Begin();

        health.End(probe, TimeSpan.FromMilliseconds(10), null);

        Assert.Equal(TimeSpan.FromMilliseconds(10), health.Read().ExpectedLatency);
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void The_expected_latency_follows_the_calls_and_is_forgotten_without_any()
    {
        health.End(false, TimeSpan.FromMilliseconds(100), null);
        health.End(false, TimeSpan.FromMilliseconds(200), null);

        Assert.Equal(TimeSpan.FromMilliseconds(120), health.Read().ExpectedLatency);
        clock.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(TimeSpan.Zero, health.Read().ExpectedLatency);
    }

    [Fact]
    public void A_processor_that_asked_for_a_pause_is_left_alone_for_it()
    {
        health.End(health.Begin(), null, TimeSpan.FromSeconds(5));

        clock.Advance(TimeSpan.FromSeconds(5) - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(Millisecond);

        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void A_shorter_pause_does_not_cut_a_longer_one()
    {
        health.End(false, null, TimeSpan.FromSeconds(5));
        health.End(false, null, TimeSpan.FromSeconds(1));

        clock.Advance(TimeSpan.FromSeconds(4));

        Assert.Equal(Availability.Unusable, Now);
    }

    [Fact]
    public void A_processor_that_reports_failing_gets_probes_only_while_its_report_is_fresh()
    {
        health.Observe(new HealthReport(true, TimeSpan.Zero, TimeSpan.Zero));

        Assert.Equal(Availability.Probe, Now);
        clock.Advance(HealthInterval * 2);
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void An_old_health_report_is_ignored()
    {
        health.Observe(new HealthReport(true, TimeSpan.FromSeconds(3), HealthInterval * 2));

        Assert.Equal(new ProcessorState(Availability.Usable, TimeSpan.Zero, TimeSpan.Zero), health.Read());
    }

    [Fact]
    public void A_health_report_that_was_never_made_is_ignored()
    {
        health.Observe(new HealthReport(true, TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1e9)));

        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void A_newer_call_of_our_own_outweighs_the_health_report()
    {
        health.Observe(new HealthReport(true, TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1)));

        health.End(true, TimeSpan.FromMilliseconds(5), null);

        Assert.Equal(Availability.Usable, Now);
        clock.Advance(TimeSpan.FromSeconds(1));
        health.Observe(new HealthReport(true, TimeSpan.Zero, TimeSpan.Zero));
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void A_processor_that_reports_itself_slow_is_not_probed()
    {
        health.Observe(new HealthReport(false, TimeSpan.FromSeconds(2), TimeSpan.Zero));

        Assert.Equal(Availability.Unusable, Now);
        Assert.Equal(TimeSpan.FromSeconds(2), health.Read().ExpectedLatency);
        clock.Advance(HealthInterval);
        health.Observe(new HealthReport(false, TimeSpan.FromMilliseconds(20), TimeSpan.Zero));
        Assert.Equal(Availability.Usable, Now);
    }

    [Fact]
    public void A_slow_processor_is_probed_when_it_reports_itself_quick_again()
    {
        health.End(false, TimeSpan.FromSeconds(2), null);
        Assert.Equal(Availability.Probe, Now);

        health.Observe(Slow);
        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(Millisecond);
        health.End(false, TimeSpan.FromSeconds(2), null); // Newer than its report, and the same.

        Assert.Equal(Availability.Unusable, Now);
        health.Observe(new HealthReport(false, TimeSpan.Zero, TimeSpan.Zero));
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void A_failing_processor_is_not_probed_while_it_reports_itself_slow_too()
    {
        OpenCircuit();
        health.Observe(new HealthReport(true, TimeSpan.FromSeconds(2), TimeSpan.Zero));

        // The next report is due after an interval; when the one after it is missing too, nobody knows.
        clock.Advance(HealthInterval * 2 - Millisecond);
        Assert.Equal(Availability.Unusable, Now);
        clock.Advance(Millisecond);
        Assert.Equal(Availability.Probe, Now);
    }

    [Fact]
    public void A_newer_quick_call_outweighs_the_report_of_being_slow()
    {
        health.Observe(Slow);
        clock.Advance(Millisecond);

        health.End(false, TimeSpan.FromMilliseconds(20), null);

        Assert.Equal(Availability.Usable, Now);
        clock.Advance(TimeSpan.FromSeconds(2)); // The call counts no more: it may be tried.
        Assert.Equal(Availability.Probe, Now);
    }

    private void OpenCircuit()
    {
        Fail();
        Fail();
        Assert.Equal(CircuitState.Open, health.Circuit.CircuitState);
    }

    private void Fail()
    {
        var probe = health.Begin();
        Assert.Throws<IOException>(() => breaker.Execute(() => throw new IOException()));
        health.End(probe, null, null);
    }

    private void Succeed()
    {
        var probe = health.Begin();
        breaker.Execute(() => { });
        health.End(probe, TimeSpan.FromMilliseconds(3), null);
    }
}

namespace PaymentGateway.Tests.Charging;

public sealed class ProcessorHealthTests
{
    private static readonly TimeSpan MaxLatency = TimeSpan.FromSeconds(1.2);
    private static readonly TimeSpan ProbeInterval = TimeSpan.FromSeconds(0.5);
    private static readonly TimeSpan HealthInterval = TimeSpan.FromSeconds(5.2);
    private static readonly TimeSpan FailuresLast = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan Millisecond = TimeSpan.FromMilliseconds(1);

    private static readonly HealthReport Slow = new(false, TimeSpan.FromSeconds(2), TimeSpan.Zero);

    private readonly FakeTimeProvider _clock = new();
    private readonly ProcessorHealth _health;

    public ProcessorHealthTests() => _health = new ProcessorHealth(
        _clock, new RoutingOptions(TimeSpan.FromSeconds(10), MaxLatency, ProbeInterval, HealthInterval));

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
        Assert.Equal(FailuresLast, _health.Read().SinceChange);

        _clock.Advance(TimeSpan.FromSeconds(7));

        Assert.Equal(TimeSpan.FromSeconds(7) + FailuresLast, _health.Read().SinceChange);
        Succeed();
        Assert.Equal(TimeSpan.Zero, _health.Read().SinceChange);
        _clock.Advance(TimeSpan.FromSeconds(3));
        // A slow processor does not fail.
        _health.End(_health.Begin(), TimeSpan.FromSeconds(2), null);
        Assert.Equal(Availability.Probe, Now);
        Assert.Equal(TimeSpan.FromSeconds(3), _health.Read().SinceChange);
    }

    [Fact]
    public void An_outage_that_nobody_read_is_counted_from_its_beginning_and_its_end_too()
    {
        _health.Observe(new HealthReport(true, TimeSpan.Zero, TimeSpan.Zero));
        _clock.Advance(TimeSpan.FromSeconds(7));
        Assert.Equal((true, TimeSpan.FromSeconds(7)), (_health.Read().Fails, _health.Read().SinceChange));

        // The report is too old after two intervals.
        _clock.Advance(TimeSpan.FromSeconds(60));
        var state = _health.Read();

        Assert.Equal((false, TimeSpan.FromSeconds(67) - HealthInterval * 2), (state.Fails, state.SinceChange));
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
        _clock.Advance(ProbeInterval);
        Assert.True(_health.Read().Fails);
        _health.End(probe: true, TimeSpan.FromMilliseconds(5), null);
        Assert.False(_health.Read().Fails);

        _health.End(false, null, TimeSpan.FromSeconds(1));
        _health.End(false, TimeSpan.FromMilliseconds(5), null); // It was sent before.
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_health.Read().Fails);
        Succeed();
        Assert.False(_health.Read().Fails);
        _clock.Advance(FailuresLast);
        OpenCircuit();
        Assert.True(_health.Read().Fails);
    }

    // The row of failures counts, however far apart they are: one call an hour, one each 2 s, twenty a second.
    [Theory]
    [InlineData(3600, 2)]
    [InlineData(2, 2)]
    [InlineData(0.25, 2)]
    [InlineData(0.05, 6)]
    [InlineData(0.001, 251)]
    public void A_row_of_failures_without_an_answer_opens_the_circuit_at_any_rate(double eachSeconds, int expected)
    {
        var failed = 0;
        while (_health.Circuit == Circuit.Closed)
        {
            Assert.InRange(failed, 0, expected);
            if (failed++ > 0)
                _clock.Advance(TimeSpan.FromSeconds(eachSeconds));
            Fail();
        }

        Assert.Equal(expected, failed);
        Assert.Equal((true, Availability.Unusable), (_health.Read().Fails, Now));
        Assert.Equal(TimeSpan.FromSeconds(eachSeconds * (failed - 1)), _health.Read().SinceChange);
    }

    [Fact]
    public void A_few_failures_between_answers_leave_the_circuit_closed()
    {
        for (var call = 0; call < 10_000; call++)
        {
            _clock.Advance(Millisecond);
            // Up to ten failures at once; and charges that were sent ten seconds ago fail beside quick ones.
            if (call % 25 < 10)
                _health.End(_health.Begin(), null, null, TimeSpan.FromSeconds(call % 2 * 10));
            else
                Succeed();
        }

        Assert.Equal((Circuit.Closed, Availability.Usable), (_health.Circuit, Now));
    }

    [Fact]
    public void More_failures_than_answers_for_a_while_open_the_circuit()
    {
        for (var call = 0; _health.Circuit == Circuit.Closed; call++)
        {
            Assert.True(call < 1_000);
            _clock.Advance(Millisecond);
            if (call % 5 < 3)
                Fail();
            else
                Succeed();
        }
    }

    // They were sent before the outage.
    [Fact]
    public void Answers_to_earlier_charges_leave_an_open_circuit_open()
    {
        OpenCircuit();
        for (var call = 0; call < 10; call++)
            _health.End(probe: false, TimeSpan.FromSeconds(1), null);

        Assert.Equal((Circuit.Open, true), (_health.Circuit, _health.Read().Fails));
    }

    // As the settlement worker does with one payment, at the default settings.
    [Theory]
    [InlineData(0.005)]  // Refused at once.
    [InlineData(2)]      // No connection within ConnectTimeout.
    [InlineData(2.5)]
    [InlineData(6)]
    [InlineData(9.9)]
    public void A_payment_alone_reaches_fallback_within_the_delay_and_one_refusal_however_rare_payments_are(
        double refusedAfterSeconds)
    {
        var (took, fallbackAfter) = (TimeSpan.FromSeconds(refusedAfterSeconds), TimeSpan.FromSeconds(10));
        var usable = new ProcessorState(Availability.Usable, TimeSpan.Zero, false, TimeSpan.MaxValue);
        foreach (var (apart, within) in new[]
        {
            (TimeSpan.FromHours(1), fallbackAfter + took), (TimeSpan.FromMinutes(1), took), (TimeSpan.Zero, took),
        })
        {
            var (age, refused) = (TimeSpan.Zero, false);
            while (ProcessorRouter.Choose([_health.Read() with { HasRefused = refused }, usable], age, fallbackAfter)
                is var chosen and not 1)
            {
                Assert.InRange(age, TimeSpan.Zero, within + TimeSpan.FromSeconds(0.1));
                var wait = TimeSpan.FromMilliseconds(50);
                if (chosen == 0)
                {
                    var probe = _health.Begin();
                    _clock.Advance(took);
                    _health.End(probe, null, null, took);
                    (refused, age) = (true, age + took);
                }

                _clock.Advance(wait);
                age += wait;
            }

            Assert.InRange(age, TimeSpan.Zero, within + TimeSpan.FromSeconds(0.1));
            _clock.Advance(apart);
        }
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
        Fail(FailuresLast);
        Fail(FailuresLast);
        Assert.Equal(Circuit.Open, _health.Circuit);
    }

    private void Fail(TimeSpan after = default) => _health.End(_health.Begin(), null, null, after);

    private void Succeed() => _health.End(_health.Begin(), TimeSpan.FromMilliseconds(3), null);
}

using PaymentGateway.Charging;
using PaymentGateway.Hosting.Configuration;

namespace PaymentGateway.Benchmarks.Routing;

/// <summary>One load through the real routing, breaker and limit, on a clock that jumps from event to event.</summary>
internal sealed class RoutingRun
{
    private const double MaxRate = 2_000;
    private const int MaxConcurrency = 256;

    // Time of a call beside the processor's delay.
    private static readonly TimeSpan Overhead = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    // The users of the official loads pause for a second after their last payment; then the load ends.
    private static readonly TimeSpan LastPause = TimeSpan.FromSeconds(1);

    // The monitor asks once a second whether the interval is over.
    private static readonly TimeSpan HealthInterval = TimeSpan.FromSeconds(5.6);

    private readonly Schedule _schedule;
    private readonly RoutingOptions _options;
    private readonly int _weight;
    private readonly EventClock _clock = new();
    private readonly PriorityQueue<Accepted, double> _queue = new();
    private readonly Lane[] _lanes;
    private readonly List<float> _delays = [];
    private TimeSpan _nextCharge;
    private bool _wakes;
    private int _accepted;

    /// <param name="weight">How many payments one of the simulation stands for; rates are divided by it.</param>
    public RoutingRun(Schedule schedule, RoutingOptions options, int weight)
    {
        (_schedule, _options, _weight) = (schedule, options, weight);
        _lanes = Array.ConvertAll(schedule.Fees, _ => new Lane(_clock, options, weight));
    }

    /// <param name="phase">When the first health report is asked for, as a part of their interval.</param>
    public RoutingResult Play(double phase)
    {
        ArriveNext();
        if (_schedule.ReportsHealth)
            _clock.At(phase * HealthInterval, Report);
        _clock.RunUntil(TimeSpan.FromSeconds(_schedule.Seconds) + LastPause);
        return RoutingResult.Of(_schedule, _accepted, Array.ConvertAll(_lanes, lane => lane.Settled), _delays);
    }

    private void ArriveNext()
    {
        if (_schedule.ArrivalOf((double)_accepted * _weight) is not { } second)
            return;

        _clock.At(TimeSpan.FromSeconds(second), () =>
        {
            _accepted++;
            _queue.Enqueue(new Accepted(second, _lanes.Length), second);
            ArriveNext();
            Pump();
        });
    }

    private void Report()
    {
        var stage = _schedule.StageAt(_clock.Now.TotalSeconds);
        for (var at = 0; at < _lanes.Length; at++)
            Observe(_lanes[at], stage.At[at]);
        _clock.At(_clock.Now + HealthInterval, Report);

        static void Observe(Lane lane, Behaviour now) => lane.Health.Observe(
            new HealthReport(now.Failing, TimeSpan.FromMilliseconds(now.DelayMs), TimeSpan.Zero));
    }

    // The worker: the oldest payment first, and the others behind it. One that was refused is behind those that came.
    private void Pump()
    {
        while (_queue.TryPeek(out var accepted, out _))
        {
            if (_clock.Now < _nextCharge)
            {
                WakeAt(_nextCharge);
                return;
            }

            if (Choose(accepted) is not { } lane)
            {
                WakeAt(_clock.Now + PollInterval);
                return;
            }

            _queue.Dequeue();
            _nextCharge = _clock.Now + TimeSpan.FromSeconds(_weight / MaxRate);
            _ = ChargeAsync(accepted, lane);
        }
    }

    private Lane? Choose(Accepted payment)
    {
        var age = _clock.Now - TimeSpan.FromSeconds(payment.Second);
        var states = _lanes.Select(
            (lane, at) => lane.Health.Read() with { HasRefused = payment.RefusedAt[at] }).ToArray();
        for (var tries = 0; tries <= states.Length; tries++)
        {
            var at = ProcessorRouter.Choose(states, age, _options.FallbackAfter);
            if (at == ProcessorRouter.Wait)
                return null;
            if (_lanes[at].Limit.TryAcquire())
                return _lanes[at];

            states[at] = states[at].WithoutPermit();
        }

        return null;
    }

    private void WakeAt(TimeSpan at)
    {
        if (_wakes)
            return;

        _wakes = true;
        _clock.At(at, () =>
        {
            _wakes = false;
            Pump();
        });
    }

    private async Task ChargeAsync(Accepted payment, Lane lane)
    {
        var probe = lane.Health.Begin();
        var sentAt = _clock.Now;
        var answer = new TaskCompletionSource();
        _clock.At(sentAt + TimeSpan.FromMilliseconds(BehaviourOf(lane).DelayMs) + Overhead, answer.SetResult);
        await answer.Task;

        var settled = !BehaviourOf(lane).Failing;
        var took = _clock.Now - sentAt;
        TimeSpan? latency = settled ? took : null;
        lane.Health.End(probe, latency, retryAfter: null, took);
        lane.Limit.Release(latency, overloaded: false);
        if (settled)
        {
            lane.Settled++;
            _delays.Add((float)(_clock.Now.TotalSeconds - payment.Second));
        }
        else
        {
            payment.RefusedAt[Array.IndexOf(_lanes, lane)] = true;
            _queue.Enqueue(payment, _clock.Now.TotalSeconds);
        }

        Pump();
    }

    // The contract's processor waits for its delay first, and looks at its failure switch then.
    private Behaviour BehaviourOf(Lane lane) =>
        _schedule.StageAt(_clock.Now.TotalSeconds).At[Array.IndexOf(_lanes, lane)];

    /// <summary>A payment that waits, with the second of its acceptance.</summary>
    private sealed class Accepted(double second, int processors)
    {
        public double Second => second;

        public bool[] RefusedAt { get; } = new bool[processors];
    }

    /// <summary>A processor as the gateway sees it.</summary>
    private sealed class Lane(TimeProvider clock, RoutingOptions options, int weight)
    {
        public ProcessorHealth Health { get; } = new(clock, options);

        public ConcurrencyLimit Limit { get; } = new(clock, Math.Max(4, MaxConcurrency / weight));

        public int Settled { get; set; }
    }
}

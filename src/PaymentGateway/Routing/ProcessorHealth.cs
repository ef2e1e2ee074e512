using Polly.CircuitBreaker;

namespace PaymentGateway.Routing;

/// <summary>
/// One processor's state, from live calls, the circuit breaker and the shared health record. Safe from any thread.
/// </summary>
internal sealed class ProcessorHealth(TimeProvider clock, RoutingOptions options)
{
    // The newest call's weight: about the last ten calls count.
    private const double Weight = 0.2;

    // A measured latency counts for this long.
    private static readonly TimeSpan LatencyKept = TimeSpan.FromSeconds(2);

    // After this time a second probe may go, because the processor may recover during a slow probe.
    private static readonly TimeSpan ProbeAlone = TimeSpan.FromSeconds(1);

    // Three health calls in a row have failed by then.
    private const int DeadAfterIntervals = 4;

    private readonly object _gate = new();
    private readonly long _startedAt = clock.GetTimestamp();
    private long _leftAloneUntil;   // No call before this timestamp: it failed, or said Retry-After.
    private bool _toldToWait;       // A pause was set and no call was answered since, so the next call is a probe.
    private long? _probeSince;
    private double _latencyMs;
    private long _measuredAt = long.MinValue;
    private HealthReport _report;
    private long _reportedAt = long.MinValue;
    private long _observedAt = long.MinValue;   // When the shared record was last read.
    private bool _failed;
    private long _changedAt = long.MinValue;   // When failing last began or ended; MinValue before.

    /// <summary>Polly's circuit breaker publishes its state here.</summary>
    public CircuitBreakerStateProvider Circuit { get; } = new();

    public ProcessorState Read()
    {
        lock (_gate)
        {
            var now = clock.GetTimestamp();
            var fails = Fails_NeedsLock(now);
            if (fails != _failed)
                (_failed, _changedAt) = (fails, now);

            var duration = _changedAt == long.MinValue ? TimeSpan.MaxValue : clock.GetElapsedTime(_changedAt, now);
            return new ProcessorState(Availability_NeedsLock(now), ExpectedLatency_NeedsLock(now), fails, duration);
        }
    }

    /// <summary>
    /// Whether the processor answers, for display and alerts; an idle processor gets no charge that would show it.
    /// Unknown while the shared record cannot be read, because then no instance makes health calls.
    /// </summary>
    public Liveness ReadLiveness()
    {
        lock (_gate)
        {
            var answeredAt = Math.Max(_startedAt, Math.Max(_reportedAt, _measuredAt));
            if (_observedAt > answeredAt
                && clock.GetElapsedTime(answeredAt, _observedAt) >= options.HealthInterval * DeadAfterIntervals)
                return Liveness.Dead;

            return clock.GetElapsedTime(answeredAt) >= options.ReportOverdueAfter ? Liveness.Unknown : Liveness.Alive;
        }
    }

    /// <summary>Registers a charge before it is sent; it is the probe if one is due.</summary>
    /// <returns>Whether it is a probe; <see cref="End"/> needs it.</returns>
    public bool Begin()
    {
        lock (_gate)
        {
            var now = clock.GetTimestamp();
            var probe = Availability_NeedsLock(now) == Availability.Probe;
            if (probe)
                _probeSince = now;
            return probe;
        }
    }

    /// <param name="probe">The result of <see cref="Begin"/>.</param>
    /// <param name="latency">Null when the processor did not answer.</param>
    /// <param name="retryAfter">The pause that the processor asked for.</param>
    public void End(bool probe, TimeSpan? latency, TimeSpan? retryAfter)
    {
        lock (_gate)
        {
            var now = clock.GetTimestamp();
            if (probe)
                _probeSince = null;

            if (latency is { } measured)
            {
                var fresh = _measuredAt != long.MinValue && clock.GetElapsedTime(_measuredAt, now) < LatencyKept;
                // A probe's latency replaces the average, because earlier calls are from before the outage.
                _latencyMs = fresh && !probe
                    ? _latencyMs + Weight * (measured.TotalMilliseconds - _latencyMs)
                    : measured.TotalMilliseconds;
                _measuredAt = now;
                _toldToWait = false;
                if (probe)
                    _leftAloneUntil = 0;
            }

            if (retryAfter is { } pause)
            {
                _leftAloneUntil = Math.Max(_leftAloneUntil, now + clock.TicksOf(pause));
                _toldToWait = true;
            }
            else if (latency is null && (probe || Circuit.CircuitState != CircuitState.Closed))
                _leftAloneUntil = Math.Max(_leftAloneUntil, now + clock.TicksOf(options.ProbeInterval));
        }
    }

    public void Observe(HealthReport newest)
    {
        lock (_gate)
        {
            _report = newest;
            _observedAt = clock.GetTimestamp();
            _reportedAt = _observedAt - clock.TicksOf(newest.Age);
        }
    }

    private Availability Availability_NeedsLock(long now)
    {
        if (!Fails_NeedsLock(now) && ExpectedLatency_NeedsLock(now) <= options.MaxLatency)
            return Availability.Usable;

        // The breaker lets one call through at a time, so it would refuse a second probe.
        var probePending = _probeSince is { } since
            && (Circuit.CircuitState != CircuitState.Closed || clock.GetElapsedTime(since, now) < ProbeAlone);
        if (probePending || now < _leftAloneUntil)
            return Availability.Unusable;

        return ReportsSlow_NeedsLock(now) ? Availability.Unusable : Availability.Probe;
    }

    // A health report counts only while none of our calls is newer.
    private bool Fails_NeedsLock(long now) =>
        Circuit.CircuitState != CircuitState.Closed || _toldToWait || now < _leftAloneUntil
        || (_report.Failing && _reportedAt > _measuredAt && IsFresh_NeedsLock(now));

    // A processor that reports itself slow is not probed, because the audit would close its window before the charge is
    // stored. A slow one that also reports failing is probed, because a failed charge stores nothing.
    private bool ReportsSlow_NeedsLock(long now) =>
        !_report.Failing && _report.MinResponse > options.MaxLatency && ReportCounts_NeedsLock(now);

    private TimeSpan ExpectedLatency_NeedsLock(long now)
    {
        if (_measuredAt != long.MinValue && clock.GetElapsedTime(_measuredAt, now) < LatencyKept)
            return TimeSpan.FromMilliseconds(_latencyMs);

        return ReportCounts_NeedsLock(now) ? _report.MinResponse : TimeSpan.Zero;
    }

    // A newer quick call outweighs the report.
    private bool ReportCounts_NeedsLock(long now) =>
        IsFresh_NeedsLock(now)
        && !(_measuredAt > _reportedAt && _latencyMs <= options.MaxLatency.TotalMilliseconds);

    // A report is too old when the next one is overdue.
    private bool IsFresh_NeedsLock(long now) =>
        _reportedAt != long.MinValue && clock.GetElapsedTime(_reportedAt, now) < options.ReportOverdueAfter;
}

/// <summary>A processor's report of its own health, shared between the instances.</summary>
internal readonly record struct HealthReport(bool Failing, TimeSpan MinResponse, TimeSpan Age);

/// <summary>By the age of the processor's last answer to a charge or a health call.</summary>
internal enum Liveness
{
    Alive,

    /// <summary>Its health report is overdue.</summary>
    Unknown,

    /// <summary>Several health calls in a row failed.</summary>
    Dead,
}

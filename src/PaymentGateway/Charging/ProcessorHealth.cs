namespace PaymentGateway.Charging;

/// <summary>
/// One processor's state, from live charges, its circuit breaker and the shared health record. Safe from any thread.
/// </summary>
/// <remarks>
/// The circuit opens when the failed charges have outnumbered the answered ones for at least a quarter of a second. No
/// window and no rate is part of this, because the rule has to hold from one charge an hour to thousands a second: two
/// slow refusals in a row open the circuit, and at 1,000 charges a second two failures in a row do not, because answers
/// follow within milliseconds. While the circuit is open, one charge at a time goes out as a probe; its answer closes
/// the circuit.
/// </remarks>
internal sealed class ProcessorHealth(TimeProvider clock, RoutingOptions options)
{
    // The newest call's weight: about the last ten calls count.
    private const double Weight = 0.2;

    private static readonly TimeSpan LatencyKept = TimeSpan.FromSeconds(2);

    // After this time a second probe may go, because the processor may recover during a slow probe.
    private static readonly TimeSpan ProbeAlone = TimeSpan.FromSeconds(1);

    // One failure alone may be an accident.
    private const int FailuresMin = 2;

    private static readonly TimeSpan FailuresLast = TimeSpan.FromMilliseconds(250);

    // Three health calls in a row have failed by then.
    private const int DeadAfterIntervals = 4;

    private readonly object _gate = new();
    private readonly long _startedAt = clock.GetTimestamp();
    private long _leftAloneUntil;   // No call before this timestamp: it failed, or said Retry-After.
    private bool _toldToWait;       // A pause was set and no call was answered since, so the next call is a probe.
    private long? _probeSince;
    private int _failures;          // By how many charges the failed ones outnumber the answered ones.
    private long _failuresSince;    // When they began to: since then the processor has perhaps not worked.
    private bool _isOpen;
    private double _latencyMs;
    private long _measuredAt = long.MinValue;
    private HealthReport _report;
    private long _reportedAt = long.MinValue;
    private long _observedAt = long.MinValue;   // When the shared record was last read.
    private bool _failed;
    private long _changedAt = long.MinValue;   // When failing last began or ended; MinValue before.

    public Circuit Circuit
    {
        get
        {
            lock (_gate)
                return !_isOpen ? Circuit.Closed : _probeSince is null ? Circuit.Open : Circuit.HalfOpen;
        }
    }

    public ProcessorState Read()
    {
        lock (_gate)
        {
            var now = Now_NeedsLock();
            var duration = _changedAt == long.MinValue ? TimeSpan.MaxValue : clock.GetElapsedTime(_changedAt, now);
            return new ProcessorState(Availability_NeedsLock(now), ExpectedLatency_NeedsLock(now), _failed, duration);
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
            var now = Now_NeedsLock();
            var probe = Availability_NeedsLock(now) == Availability.Probe;
            if (probe)
                _probeSince = now;
            return probe;
        }
    }

    /// <param name="probe">The result of <see cref="Begin"/>.</param>
    /// <param name="latency">Null when the processor did not answer: the charge failed.</param>
    /// <param name="retryAfter">The pause that the processor asked for.</param>
    /// <param name="failedAfter">How long a charge took that failed.</param>
    /// <returns>Whether the circuit opened or closed by this charge.</returns>
    public CircuitChange End(bool probe, TimeSpan? latency, TimeSpan? retryAfter, TimeSpan failedAfter = default)
    {
        lock (_gate)
        {
            var (now, wasOpen) = (Now_NeedsLock(), _isOpen);
            if (probe)
                _probeSince = null;

            if (latency is { } measured)
                Answered_NeedsLock(probe, measured, now);
            else
                Failed_NeedsLock(probe, now - clock.TicksOf(failedAfter), now);

            if (retryAfter is { } pause)
            {
                _leftAloneUntil = Math.Max(_leftAloneUntil, now + clock.TicksOf(pause));
                _toldToWait = true;
            }
            else if (latency is null && _isOpen)
                _leftAloneUntil = Math.Max(_leftAloneUntil, now + clock.TicksOf(options.ProbeInterval));

            Note_NeedsLock(now, since: _isOpen && !wasOpen ? _failuresSince : now);
            return _isOpen == wasOpen ? CircuitChange.None : _isOpen ? CircuitChange.Opened : CircuitChange.Closed;
        }
    }

    /// <summary>Ends a charge that this instance itself did not send, which says nothing of the processor.</summary>
    /// <param name="probe">The result of <see cref="Begin"/>.</param>
    public void EndUnsent(bool probe)
    {
        lock (_gate)
            if (probe)
                _probeSince = null;
    }

    public void Observe(HealthReport newest)
    {
        lock (_gate)
        {
            _observedAt = Now_NeedsLock();
            _report = newest;
            _reportedAt = _observedAt - clock.TicksOf(newest.Age);
            Note_NeedsLock(_observedAt, since: _observedAt);
        }
    }

    private void Answered_NeedsLock(bool probe, TimeSpan latency, long now)
    {
        var fresh = _measuredAt != long.MinValue && clock.GetElapsedTime(_measuredAt, now) < LatencyKept;
        // A probe's latency replaces the average, because earlier calls are from before the outage.
        _latencyMs = fresh && !probe
            ? _latencyMs + Weight * (latency.TotalMilliseconds - _latencyMs)
            : latency.TotalMilliseconds;
        _measuredAt = now;
        // Only a probe shows that an outage is over: another charge that is answered now was sent before it.
        if (probe)
            (_isOpen, _toldToWait, _failures, _leftAloneUntil) = (false, false, 0, 0);
        else if (_failures > 0)
            _failures--;
    }

    // Whatever is not answered counts: a refusal, no connection, no answer in time, an answer of no processor. One 400
    // is the payment's fault, many are the processor's.
    private void Failed_NeedsLock(bool probe, long sentAt, long now)
    {
        // A slow failure tells of the time since it was sent, unless the processor has answered another charge since.
        if (_failures == 0)
            _failuresSince = Math.Max(sentAt, _measuredAt);
        _failures++;
        _isOpen |= probe || (_failures >= FailuresMin && clock.GetElapsedTime(_failuresSince, now) >= FailuresLast);
    }

    private Availability Availability_NeedsLock(long now)
    {
        if (!_failed && ExpectedLatency_NeedsLock(now) <= options.MaxLatency)
            return Availability.Usable;

        // A processor that fails gets one call at a time, however long it takes.
        var probePending = _probeSince is { } since
            && (_isOpen || clock.GetElapsedTime(since, now) < ProbeAlone);
        if (probePending || now < _leftAloneUntil)
            return Availability.Unusable;

        return ReportsSlow_NeedsLock(now) ? Availability.Unusable : Availability.Probe;
    }

    // Between two events only the report's age may change whether the processor fails; it does so at a known time.
    private long Now_NeedsLock()
    {
        var now = clock.GetTimestamp();
        Note_NeedsLock(now, since: _reportedAt + clock.TicksOf(options.ReportOverdueAfter));
        return now;
    }

    // A health report counts only while none of our calls is newer.
    private void Note_NeedsLock(long now, long since)
    {
        var fails = _isOpen || _toldToWait
            || (_report.Failing && _reportedAt > _measuredAt && IsFresh_NeedsLock(now));
        if (fails != _failed)
            (_failed, _changedAt) = (fails, since);
    }

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

internal enum Circuit
{
    /// <summary>All charges may go out.</summary>
    Closed,

    /// <summary>The charges fail, and a probe is in flight.</summary>
    HalfOpen,

    /// <summary>The charges fail; the next one is a probe.</summary>
    Open,
}

internal enum CircuitChange
{
    None,
    Opened,
    Closed,
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

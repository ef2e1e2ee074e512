namespace PaymentGateway.Leasing;

/// <summary>
/// Gives every payment its own acceptance time, strictly rising in an epoch, so that a range of times names a batch.
/// Safe from any thread.
/// </summary>
/// <param name="after">Times begin after this one (UTC).</param>
internal sealed class AcceptanceClock(TimeProvider clock, DateTime after)
{
    private readonly object _gate = new();
    private readonly Dictionary<long, DateTime> _inFlight = [];
    private DateTime _last = after;
    private long _lastNumber;

    /// <summary>The last time that was given (UTC).</summary>
    public DateTime Latest
    {
        get
        {
            lock (_gate)
                return _last;
        }
    }

    /// <summary>Begins a batch, whose times are one microsecond apart.</summary>
    public AcceptanceBatch Begin(int count)
    {
        lock (_gate)
        {
            var next = _last.AddTicks(TimeSpan.TicksPerMicrosecond);
            var now = clock.UtcMicroseconds();
            var from = now > next ? now : next;
            _last = from.AddTicks((count - 1) * TimeSpan.TicksPerMicrosecond);
            _inFlight.Add(++_lastNumber, from);
            return new AcceptanceBatch(_lastNumber, from, _last);
        }
    }

    /// <summary>Ends a batch whose payments are in memory or in the backlog.</summary>
    public void End(AcceptanceBatch batch)
    {
        lock (_gate)
            _inFlight.Remove(batch.Number);
    }

    /// <summary>No batch in flight or to come has an earlier time.</summary>
    public DateTime Oldest()
    {
        lock (_gate)
            return _inFlight.Count == 0 ? _last : _inFlight.Values.Min();
    }
}

/// <summary>A batch of acceptances; both times are inclusive, UTC, whole microseconds.</summary>
internal readonly record struct AcceptanceBatch(long Number, DateTime From, DateTime To)
{
    public DateTime At(int index) => From.AddTicks(index * TimeSpan.TicksPerMicrosecond);
}

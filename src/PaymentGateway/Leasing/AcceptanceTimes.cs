namespace PaymentGateway.Leasing;

/// <summary>
/// Gives every payment its own acceptance time, strictly rising in an epoch, so that a range of times names a
/// batch. Safe from any thread.
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

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory, because they did not fit into the
/// queue. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    private readonly object _gate = new();
    private readonly List<StoredRange> _ranges = [];
    private readonly List<StoredRange> _broken = [];

    public AsyncAutoResetEvent Added { get; } = new(clock);

    /// <summary>True while a range can be read; newer payments must then wait behind it.</summary>
    public bool HasOverflow => Next() is not null;

    /// <param name="batch">A batch whose payments are in the table.</param>
    public void Add(AcceptanceBatch batch)
    {
        lock (_gate)
            Append(_ranges, batch);
        Added.Set();
    }

    /// <summary>
    /// Notes a batch whose INSERT broke: its payments are perhaps in the table, now or later. They are never read here,
    /// because the next epoch takes them over.
    /// </summary>
    public void AddBroken(AcceptanceBatch batch)
    {
        lock (_gate)
            Append(_broken, batch);
    }

    // Neighbours become one range, otherwise a long outage grows the list. Only neighbours: a batch between them that
    // went to memory would be taken for one that did not.
    private static void Append(List<StoredRange> ranges, AcceptanceBatch batch)
    {
        if (ranges.Count > 0 && ranges[^1] is var last && last.LastBatch == batch.Number - 1)
            ranges[^1] = last with { To = batch.To, LastBatch = batch.Number };
        else
            ranges.Add(new StoredRange(batch.From, batch.To, batch.Number));
    }

    public StoredRange? Next()
    {
        lock (_gate)
            return _ranges.Count == 0 ? null : _ranges[0];
    }

    /// <summary>Removes the times up to <paramref name="upTo"/>, whose payments are in memory now.</summary>
    public void Advance(DateTime upTo)
    {
        lock (_gate)
        {
            var rest = _ranges[0] with { From = upTo.AddTicks(TimeSpan.TicksPerMicrosecond) };
            if (rest.From > rest.To)
                _ranges.RemoveAt(0);
            else
                _ranges[0] = rest;
        }
    }

    /// <summary>Whether a payment that was accepted at that time (UTC) was never in memory.</summary>
    public bool Contains(DateTime acceptedAt)
    {
        lock (_gate)
            return _ranges.Exists(range => range.From <= acceptedAt && acceptedAt <= range.To)
                || _broken.Exists(range => range.From <= acceptedAt && acceptedAt <= range.To);
    }

    public DateTime? Oldest()
    {
        lock (_gate)
            return _ranges.Concat(_broken).Min(range => (DateTime?)range.From);
    }
}

/// <summary>An inclusive range of acceptance times.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch);

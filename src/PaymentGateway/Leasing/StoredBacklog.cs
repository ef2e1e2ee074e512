namespace PaymentGateway.Leasing;

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory, because they did not fit into the
/// queue. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    private readonly object _gate = new();
    private readonly List<StoredRange> _ranges = [];
    private readonly List<AcceptanceBatch> _broken = [];

    public AsyncAutoResetEvent Added { get; } = new(clock);

    /// <summary>True while a range can be read; newer payments must then wait behind it.</summary>
    public bool HasOverflow => Next() is not null;

    /// <param name="batch">A batch whose payments are in the table.</param>
    public void Add(AcceptanceBatch batch)
    {
        lock (_gate)
        {
            // Neighbours become one range, otherwise a long outage grows the list. Only neighbours: a batch between
            // them that went to memory would be read, and charged, a second time.
            if (_ranges.Count > 0 && _ranges[^1] is var last && last.LastBatch == batch.Number - 1)
                _ranges[^1] = last with { To = batch.To, LastBatch = batch.Number };
            else
                _ranges.Add(new StoredRange(batch.From, batch.To, batch.Number));
        }

        Added.Set();
    }

    /// <summary>
    /// Notes a batch whose INSERT broke: its payments are perhaps in the table, now or later. They are never read here,
    /// because the next epoch takes them over.
    /// </summary>
    public void AddBroken(AcceptanceBatch batch)
    {
        lock (_gate)
            _broken.Add(batch);
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
                || _broken.Exists(batch => batch.From <= acceptedAt && acceptedAt <= batch.To);
    }

    public DateTime? Oldest()
    {
        lock (_gate)
            return _ranges.Select(range => (DateTime?)range.From).Concat(
                _broken.Select(batch => (DateTime?)batch.From)).Min();
    }
}

/// <summary>An inclusive range of acceptance times.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch);

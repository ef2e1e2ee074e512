namespace PaymentGateway.Leasing;

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

using PaymentGateway.Queueing;

namespace PaymentGateway.Leasing;

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory, because they did not fit into the
/// queue, or their INSERT broke. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    private readonly object _gate = new();
    private readonly List<StoredRange> _ranges = [];

    public AsyncAutoResetEvent Added { get; } = new(clock);

    /// <summary>True while a range can be read; newer payments must then wait behind it.</summary>
    public bool HasOverflow => Next() is not null;

    /// <param name="batch">A batch whose payments are in the table, or may be.</param>
    /// <param name="isUncertain">The INSERT broke, and may still store rows after a read.</param>
    public void Add(AcceptanceBatch batch, bool isUncertain = false)
    {
        lock (_gate)
        {
            // Neighbours of one kind become one range, otherwise a long outage grows the list. Only neighbours: a batch
            // between them that went to memory would be read, and charged, a second time.
            if (_ranges.Count > 0 && _ranges[^1] is var last && last.LastBatch == batch.Number - 1
                && last.IsUncertain == isUncertain)
                _ranges[^1] = last with { To = batch.To, LastBatch = batch.Number };
            else
                _ranges.Add(new StoredRange(batch.From, batch.To, batch.Number, isUncertain));
        }

        Added.Set();
    }

    public DateTime? UncertainUntil()
    {
        lock (_gate)
            return _ranges.Where(range => range.IsUncertain).Max(range => (DateTime?)range.To);
    }

    /// <summary>Uncertain ranges up to <paramref name="until"/> can be read: nothing more is stored there.</summary>
    public void MakeCertain(DateTime until)
    {
        lock (_gate)
            for (var at = 0; at < _ranges.Count; at++)
            {
                var range = _ranges[at];
                if (!range.IsUncertain || range.From > until)
                    continue;

                // The range may have grown since the check began.
                if (range.To > until)
                    _ranges.Insert(at + 1, range with { From = until.AddTicks(TimeSpan.TicksPerMicrosecond) });
                _ranges[at] = range with { To = range.To < until ? range.To : until, IsUncertain = false };
            }

        Added.Set();
    }

    public StoredRange? Next()
    {
        lock (_gate)
            return _ranges.Find(range => !range.IsUncertain);
    }

    /// <summary>Removes the times up to <paramref name="upTo"/>, whose payments are in memory now.</summary>
    public void Advance(StoredRange read, DateTime upTo)
    {
        lock (_gate)
        {
            var at = _ranges.FindIndex(range => range.From == read.From);
            if (at < 0)
                return; // Cleared, because the epoch was lost.

            var rest = _ranges[at] with { From = upTo.AddTicks(TimeSpan.TicksPerMicrosecond) };
            if (rest.From > rest.To)
                _ranges.RemoveAt(at);
            else
                _ranges[at] = rest;
        }
    }

    public DateTime? Oldest()
    {
        lock (_gate)
            return _ranges.Count == 0 ? null : _ranges.Min(range => range.From);
    }

    public void Clear()
    {
        lock (_gate)
            _ranges.Clear();
    }
}

/// <summary>An inclusive range of acceptance times; while it is uncertain, more may be stored there.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch, bool IsUncertain);

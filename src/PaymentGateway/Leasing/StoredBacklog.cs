using PaymentGateway.Queueing;

namespace PaymentGateway.Leasing;

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory: they did not fit into the queue,
/// or their INSERT broke. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    private readonly object _gate = new();
    private readonly List<StoredRange> _ranges = [];

    /// <summary>Set when something can be read here.</summary>
    public AsyncAutoResetEvent Added { get; } = new(clock);

    /// <summary>While there is something to read, newer payments must queue up behind it: oldest first.</summary>
    public bool HasOverflow
    {
        get
        {
            lock (_gate)
                return _ranges.Exists(range => !range.IsUncertain);
        }
    }

    /// <summary>The payments of a stored batch that did not fit into the queue.</summary>
    public void AddOverflow(AcceptanceBatch batch) => Add(batch, isUncertain: false);

    /// <summary>A batch whose INSERT broke: what is read before it is over would not be all.</summary>
    public void AddUncertain(AcceptanceBatch batch) => Add(batch, isUncertain: true);

    private void Add(AcceptanceBatch batch, bool isUncertain)
    {
        lock (_gate)
        {
            // Neighbours of one kind become one range, so a long outage does not grow a list. Only neighbours: a
            // batch between them that went to memory would be read, and charged, a second time.
            if (_ranges.Count > 0 && _ranges[^1] is var last && last.LastBatch == batch.Number - 1
                && last.IsUncertain == isUncertain)
                _ranges[^1] = last with { To = batch.To, LastBatch = batch.Number };
            else
                _ranges.Add(new StoredRange(batch.From, batch.To, batch.Number, isUncertain));
        }

        Added.Set();
    }

    /// <summary>The upper end of what is uncertain; null when nothing is.</summary>
    public DateTime? UncertainUntil()
    {
        lock (_gate)
            return _ranges.Where(range => range.IsUncertain).Max(range => (DateTime?)range.To);
    }

    /// <summary>What was uncertain up to <paramref name="until"/> can be read: nothing more comes there.</summary>
    public void MakeCertain(DateTime until)
    {
        lock (_gate)
            for (var at = 0; at < _ranges.Count; at++)
            {
                var range = _ranges[at];
                if (!range.IsUncertain || range.From > until)
                    continue;

                // It may have grown since the question was asked.
                if (range.To > until)
                    _ranges.Insert(at + 1, range with { From = until.AddTicks(TimeSpan.TicksPerMicrosecond) });
                _ranges[at] = range with { To = range.To < until ? range.To : until, IsUncertain = false };
            }

        Added.Set();
    }

    /// <summary>The first range that may be read now, or null.</summary>
    public StoredRange? Next()
    {
        lock (_gate)
            return _ranges.Find(range => !range.IsUncertain);
    }

    /// <summary>What was read up to and with <paramref name="upTo"/> is in memory now.</summary>
    public void Advance(StoredRange read, DateTime upTo)
    {
        lock (_gate)
        {
            var at = _ranges.FindIndex(range => range.From == read.From);
            if (at < 0)
                return; // Cleared meanwhile: the epoch was lost.

            var rest = _ranges[at] with { From = upTo.AddTicks(TimeSpan.TicksPerMicrosecond) };
            if (rest.From > rest.To)
                _ranges.RemoveAt(at);
            else
                _ranges[at] = rest;
        }
    }

    /// <summary>The lower end of everything that waits here; null when nothing does.</summary>
    public DateTime? Oldest()
    {
        lock (_gate)
            return _ranges.Count == 0 ? null : _ranges.Min(range => range.From);
    }

    /// <summary>The epoch is lost: others adopt what is here.</summary>
    public void Clear()
    {
        lock (_gate)
            _ranges.Clear();
    }
}

/// <summary>An inclusive range of acceptance times; while it is uncertain, more may be stored there.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch, bool IsUncertain);

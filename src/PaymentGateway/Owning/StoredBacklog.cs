namespace PaymentGateway.Owning;

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory: they did not fit into the queue,
/// or nobody knows whether their INSERT came through. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    // A statement that the client gave up on may still run until the server's statement_timeout (5 s) ends it.
    private static readonly TimeSpan UncertainFor = TimeSpan.FromSeconds(6);

    private readonly object gate = new();
    private readonly List<StoredRange> ranges = [];

    /// <summary>While it is not empty, newer payments must queue up behind it: oldest first.</summary>
    public bool HasOverflow
    {
        get
        {
            lock (gate)
                return ranges.Exists(range => !range.IsUncertain);
        }
    }

    /// <summary>The payments of a stored batch that did not fit into the queue.</summary>
    public void AddOverflow(AcceptanceBatch batch) => Add(batch, 0);

    /// <summary>A batch whose INSERT broke: it is looked for when it can no longer appear.</summary>
    public void AddUncertain(AcceptanceBatch batch) => Add(batch, Later());

    /// <summary>The database was too slow to be believed that nothing of the range can still appear.</summary>
    public void Postpone(StoredRange range)
    {
        lock (gate)
        {
            var at = ranges.FindIndex(known => known.From == range.From);
            if (at >= 0)
                ranges[at] = ranges[at] with { NotBefore = Later() };
        }
    }

    private long Later() => clock.GetTimestamp() + clock.TicksOf(UncertainFor);

    private void Add(AcceptanceBatch batch, long notBefore)
    {
        lock (gate)
        {
            // Neighbours of one kind become one range, so a long outage does not grow a list. Only neighbours: a
            // batch between them that went to memory would be read, and charged, a second time.
            if (ranges.Count > 0 && ranges[^1] is var last && last.LastBatch == batch.Number - 1
                && last.IsUncertain == (notBefore != 0))
                ranges[^1] = last with { To = batch.To, LastBatch = batch.Number, NotBefore = notBefore };
            else
                ranges.Add(new StoredRange(batch.From, batch.To, batch.Number, notBefore));
        }
    }

    /// <summary>The oldest range that may be read now, or null.</summary>
    public StoredRange? Next()
    {
        var now = clock.GetTimestamp();
        lock (gate)
            return ranges.Find(range => range.NotBefore <= now);
    }

    /// <summary>What was read up to and with <paramref name="upTo"/> is in memory now.</summary>
    public void Advance(StoredRange read, DateTime upTo)
    {
        lock (gate)
        {
            var at = ranges.FindIndex(range => range.From == read.From);
            if (at < 0)
                return; // Cleared meanwhile: the epoch was lost.

            var rest = ranges[at] with { From = upTo.AddTicks(TimeSpan.TicksPerMicrosecond) };
            if (rest.From > rest.To)
                ranges.RemoveAt(at);
            else
                ranges[at] = rest;
        }
    }

    /// <summary>The lower end of everything that waits here; null when nothing does.</summary>
    public DateTime? Oldest()
    {
        lock (gate)
            return ranges.Count == 0 ? null : ranges.Min(range => range.From);
    }

    /// <summary>The epoch is lost: others adopt what is here.</summary>
    public void Clear()
    {
        lock (gate)
            ranges.Clear();
    }
}

/// <summary>An inclusive range of acceptance times; NotBefore is a monotonic timestamp, 0 for at once.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch, long NotBefore)
{
    /// <summary>Nobody knows whether its payments are in the table.</summary>
    public bool IsUncertain => NotBefore != 0;
}

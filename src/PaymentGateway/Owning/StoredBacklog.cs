namespace PaymentGateway.Owning;

/// <summary>
/// Ranges of acceptance times whose payments are in the table and not in memory: they did not fit into the queue,
/// or nobody knows whether their INSERT came through. Batches have disjoint ranges. Safe from any thread.
/// </summary>
internal sealed class StoredBacklog(TimeProvider clock)
{
    // A statement that we gave up on runs until the server's statement_timeout (5 s) ends it; one backend that stands
    // still meanwhile may run it much later, and no look before that can tell.
    private static readonly TimeSpan LookFirst = TimeSpan.FromSeconds(6);
    private static readonly TimeSpan LookMost = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LookFor = TimeSpan.FromMinutes(2);

    private readonly object gate = new();
    private readonly List<StoredRange> ranges = [];

    /// <summary>Pulsed when something begins to wait here.</summary>
    public Pulse Added { get; } = new(clock);

    /// <summary>Nothing waits here.</summary>
    public bool IsEmpty
    {
        get
        {
            lock (gate)
                return ranges.Count == 0;
        }
    }

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
    public void AddOverflow(AcceptanceBatch batch) => Add(batch, null);

    /// <summary>
    /// A batch whose INSERT broke: it is looked for when it should have ended, and again for two minutes.
    /// </summary>
    public void AddUncertain(AcceptanceBatch batch)
    {
        var now = clock.GetTimestamp();
        Add(batch, new Search(now + clock.TicksOf(LookFirst), now + clock.TicksOf(LookFor), LookFirst, []));
    }

    private void Add(AcceptanceBatch batch, Search? search)
    {
        lock (gate)
        {
            // Neighbours of one kind become one range, so a long outage does not grow a list. Only neighbours: a
            // batch between them that went to memory would be read, and charged, a second time.
            if (ranges.Count > 0 && ranges[^1] is var last && last.LastBatch == batch.Number - 1
                && last.IsUncertain == search is not null)
                ranges[^1] = last with
                {
                    To = batch.To,
                    LastBatch = batch.Number,
                    Search = last.Search is { } known ? search! with { Loaded = known.Loaded } : null,
                };
            else
                ranges.Add(new StoredRange(batch.From, batch.To, batch.Number, search));
        }

        Added.Set();
    }

    /// <summary>The oldest range that may be read now, or null.</summary>
    public StoredRange? Next()
    {
        var now = clock.GetTimestamp();
        lock (gate)
            return ranges.Find(range => (range.Search?.NotBefore ?? 0) <= now);
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

    /// <summary>
    /// An uncertain range was read from end to end: it is read again later, unless the look began at its very end.
    /// </summary>
    /// <param name="read">As it was when the look began.</param>
    /// <param name="beganAt">Monotonic timestamp from before the look.</param>
    public void Looked(StoredRange read, long beganAt)
    {
        lock (gate)
        {
            var at = ranges.FindIndex(range => range.From == read.From && range.LastBatch == read.LastBatch);
            if (at < 0 || ranges[at].Search is not { } search)
                return; // Cleared meanwhile, or grown: then it is read from the start when that is due.

            if (beganAt >= search.Until)
            {
                ranges.RemoveAt(at);
                return;
            }

            var wait = search.Wait * 2 < LookMost ? search.Wait * 2 : LookMost;
            var next = Math.Min(clock.GetTimestamp() + clock.TicksOf(wait), search.Until);
            ranges[at] = ranges[at] with { Search = search with { NotBefore = next, Wait = wait } };
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

/// <summary>An inclusive range of acceptance times; it has a search when it is uncertain.</summary>
internal sealed record StoredRange(DateTime From, DateTime To, long LastBatch, Search? Search)
{
    /// <summary>Nobody knows whether its payments are in the table.</summary>
    public bool IsUncertain => Search is not null;
}

/// <summary>When an uncertain range is looked at; NotBefore and Until are monotonic timestamps.</summary>
/// <param name="Loaded">
/// The acceptance times, each of one payment only, that earlier looks brought into memory; the reader's alone.
/// </param>
internal sealed record Search(long NotBefore, long Until, TimeSpan Wait, HashSet<DateTime> Loaded);

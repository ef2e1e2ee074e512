using System.Collections.Concurrent;
using System.Net;

namespace ProcessorSimulator.Auditing;

/// <summary>The calls that are counted: Refused are those answered by 429, Duplicate those by 422.</summary>
internal enum Counted
{
    Post,
    LookUp,
    Health,
    Refused,
    Duplicate,
    Summary,
}

/// <summary>Counts the calls since the start or the last purge; any thread may count.</summary>
internal sealed class CallCounters
{
    private readonly ConcurrentDictionary<IPAddress, long> _postsBy = new();
    private readonly long[] _counts = new long[Enum.GetValues<Counted>().Length];
    private int _maxInFlight;

    /// <param name="caller">Null when it has no address.</param>
    public void CountPost(IPAddress? caller)
    {
        Count(Counted.Post);
        if (caller is not null)
            _postsBy.AddOrUpdate(caller, 1, static (_, count) => count + 1);
    }

    public void Count(Counted what) => Interlocked.Increment(ref _counts[(int)what]);

    public void NoteInFlight(int inFlight)
    {
        var known = Volatile.Read(ref _maxInFlight);
        while (inFlight > known)
            known = Interlocked.CompareExchange(ref _maxInFlight, inFlight, known);
    }

    public void StartAnew()
    {
        foreach (ref var count in _counts.AsSpan())
            Volatile.Write(ref count, 0);
        Volatile.Write(ref _maxInFlight, 0);
        _postsBy.Clear();
    }

    /// <summary>By the address of the caller: how many POSTs came from there.</summary>
    public Dictionary<string, long> ReadCallers() =>
        _postsBy.ToDictionary(pair => pair.Key.ToString(), pair => pair.Value);

    public CallCount Read(int inFlight, int queued, int held) => new(
        Of(Counted.Post), Of(Counted.LookUp), Of(Counted.Health), Of(Counted.Refused), Of(Counted.Duplicate),
        Volatile.Read(ref _maxInFlight), inFlight, queued, held, Of(Counted.Summary));

    private long Of(Counted what) => Volatile.Read(ref _counts[(int)what]);
}

/// <summary>
/// The answer of GET /admin/calls: 429 and in flight are those of the limiter that payments and look-ups share; held
/// are the calls that wait for a fault to be cleared, past every switch. Summaries are GET /admin/payments-summary,
/// whatever the token.
/// </summary>
internal sealed record CallCount(
    long Posts,
    long Lookups,
    long HealthCalls,
    long Refused429,
    long Duplicates422,
    int MaxInFlight,
    int InFlight,
    int Queued,
    int Held,
    long Summaries);

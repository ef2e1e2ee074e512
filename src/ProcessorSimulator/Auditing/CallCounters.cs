using System.Collections.Concurrent;
using System.Net;

namespace ProcessorSimulator.Auditing;

/// <summary>Counts the calls since the start or the last purge; any thread may count.</summary>
internal sealed class CallCounters
{
    private readonly ConcurrentDictionary<IPAddress, long> _postsBy = new();
    private long _posts;
    private long _lookUps;
    private long _healthCalls;
    private long _refused;
    private long _duplicates;
    private long _summaries;
    private int _maxInFlight;

    /// <param name="caller">Null when it has no address.</param>
    public void CountPost(IPAddress? caller)
    {
        Interlocked.Increment(ref _posts);
        if (caller is not null)
            _postsBy.AddOrUpdate(caller, 1, static (_, count) => count + 1);
    }

    public void CountLookUp() => Interlocked.Increment(ref _lookUps);

    public void CountHealthCall() => Interlocked.Increment(ref _healthCalls);

    public void CountRefused() => Interlocked.Increment(ref _refused);

    public void CountDuplicate() => Interlocked.Increment(ref _duplicates);

    public void CountSummary() => Interlocked.Increment(ref _summaries);

    public void NoteInFlight(int inFlight)
    {
        var known = Volatile.Read(ref _maxInFlight);
        while (inFlight > known)
            known = Interlocked.CompareExchange(ref _maxInFlight, inFlight, known);
    }

    public void StartAnew()
    {
        Volatile.Write(ref _posts, 0);
        Volatile.Write(ref _lookUps, 0);
        Volatile.Write(ref _healthCalls, 0);
        Volatile.Write(ref _refused, 0);
        Volatile.Write(ref _duplicates, 0);
        Volatile.Write(ref _summaries, 0);
        Volatile.Write(ref _maxInFlight, 0);
        _postsBy.Clear();
    }

    /// <summary>By the address of the caller: how many POSTs came from there.</summary>
    public Dictionary<string, long> ReadCallers() =>
        _postsBy.ToDictionary(pair => pair.Key.ToString(), pair => pair.Value);

    public CallCount Read(int inFlight, int queued, int held) => new(
        Volatile.Read(ref _posts),
        Volatile.Read(ref _lookUps),
        Volatile.Read(ref _healthCalls),
        Volatile.Read(ref _refused),
        Volatile.Read(ref _duplicates),
        Volatile.Read(ref _maxInFlight),
        inFlight,
        queued,
        held,
        Volatile.Read(ref _summaries));
}

namespace ProcessorSimulator.Auditing;

/// <summary>Counts the calls since the start or the last purge; any thread may count.</summary>
internal sealed class CallCounters
{
    private long posts;
    private long lookUps;
    private long healthCalls;
    private long refused;
    private long duplicates;
    private int maxInFlight;

    public void CountPost() => Interlocked.Increment(ref posts);

    public void CountLookUp() => Interlocked.Increment(ref lookUps);

    public void CountHealthCall() => Interlocked.Increment(ref healthCalls);

    public void CountRefused() => Interlocked.Increment(ref refused);

    public void CountDuplicate() => Interlocked.Increment(ref duplicates);

    public void NoteInFlight(int inFlight)
    {
        var known = Volatile.Read(ref maxInFlight);
        while (inFlight > known)
            known = Interlocked.CompareExchange(ref maxInFlight, inFlight, known);
    }

    public void StartAnew()
    {
        Volatile.Write(ref posts, 0);
        Volatile.Write(ref lookUps, 0);
        Volatile.Write(ref healthCalls, 0);
        Volatile.Write(ref refused, 0);
        Volatile.Write(ref duplicates, 0);
        Volatile.Write(ref maxInFlight, 0);
    }

    public CallCount Read(int inFlight, int queued) => new(
        Volatile.Read(ref posts),
        Volatile.Read(ref lookUps),
        Volatile.Read(ref healthCalls),
        Volatile.Read(ref refused),
        Volatile.Read(ref duplicates),
        Volatile.Read(ref maxInFlight),
        inFlight,
        queued);
}

namespace PaymentGateway.Reconciling;

/// <summary>How far a reconciliation has come. One writes, any thread may read.</summary>
internal sealed class ReconciliationProgress
{
    private int _calls;
    private long _reached;
    private volatile bool _begun;
    private volatile string _phase = "comparing";

    /// <summary>What it does: comparing, naming, confirming or repairing.</summary>
    public string Phase
    {
        get => _phase;
        set => _phase = value;
    }

    /// <summary>Calls to processors so far.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>UTC; where the comparison is.</summary>
    public DateTime At => new(Volatile.Read(ref _reached), DateTimeKind.Utc);

    /// <summary>Both processors have answered once.</summary>
    public bool HasBegun
    {
        get => _begun;
        set => _begun = value;
    }

    public void Asked() => Interlocked.Increment(ref _calls);

    public void Reached(DateTime at) => Volatile.Write(ref _reached, at.Ticks);
}

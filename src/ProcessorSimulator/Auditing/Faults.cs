namespace ProcessorSimulator.Auditing;

/// <summary>The faults that are set now, and the calls that they hold; any thread may call it.</summary>
internal sealed class Faults(CancellationToken stopping)
{
    private readonly object _gate = new();
    private volatile FaultSettings _current = FaultSettings.None;
    private TaskCompletionSource _changed = NewSignal();
    private int? _timesLeft;
    private int _held;

    public FaultSettings Current => _current;

    /// <summary>How many calls wait now until a fault is cleared.</summary>
    public int Held => Volatile.Read(ref _held);

    /// <summary>The same with the number of POSTs that it still hits.</summary>
    public FaultSettings Remaining
    {
        get
        {
            lock (_gate)
                return _current with { Times = _timesLeft };
        }
    }

    public void Set(FaultSettings settings)
    {
        TaskCompletionSource signal;
        lock (_gate)
        {
            _current = settings;
            _timesLeft = settings.Times;
            signal = _changed;
            _changed = NewSignal();
        }

        signal.SetResult();
    }

    /// <summary>What a POST that arrives now will suffer; null when it will be served as the contract says.</summary>
    public FaultSettings? TakeForPost()
    {
        if (!_current.HitsPayments)
            return null;
        lock (_gate)
        {
            if (!_current.HitsPayments || _timesLeft == 0)
                return null;
            _timesLeft--;
            return _current;
        }
    }

    /// <summary>Holds a call until the fault is cleared, even when its times are used up, or until the stop.</summary>
    public async Task HoldWhileAsync(Predicate<FaultSettings> isSet, CancellationToken cancellation)
    {
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(stopping, cancellation);
        Interlocked.Increment(ref _held);
        try
        {
            while (NextChange(isSet) is { } next)
                await next.WaitAsync(ending.Token);
        }
        finally
        {
            Interlocked.Decrement(ref _held);
        }
    }

    /// <summary>Null when it is not set any more.</summary>
    private Task? NextChange(Predicate<FaultSettings> isSet)
    {
        lock (_gate)
            return isSet(_current) ? _changed.Task : null;
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}

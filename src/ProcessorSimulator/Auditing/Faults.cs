namespace ProcessorSimulator.Auditing;

/// <summary>The faults that are set now, and the calls that they hold; any thread may call it.</summary>
internal sealed class Faults(CancellationToken stopping)
{
    private readonly object _gate = new();
    private volatile FaultSettings _current = FaultSettings.None;
    private TaskCompletionSource _changed = NewSignal();
    private int? _timesLeft;

    public FaultSettings Current => _current;

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
        while (true)
        {
            Task next;
            lock (_gate)
            {
                if (!isSet(_current))
                    return;
                next = _changed.Task;
            }

            await next.WaitAsync(ending.Token);
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}

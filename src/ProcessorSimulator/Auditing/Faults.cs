namespace ProcessorSimulator.Auditing;

/// <summary>The faults that are set now, and the calls that they hold; any thread may call it.</summary>
internal sealed class Faults(CancellationToken stopping)
{
    private readonly object gate = new();
    private volatile FaultSettings current = FaultSettings.None;
    private TaskCompletionSource changed = NewSignal();
    private int? timesLeft;

    public FaultSettings Current => current;

    /// <summary>The same with the number of POSTs that it still hits.</summary>
    public FaultSettings Remaining
    {
        get
        {
            lock (gate)
                return current with { Times = timesLeft };
        }
    }

    public void Set(FaultSettings settings)
    {
        TaskCompletionSource signal;
        lock (gate)
        {
            current = settings;
            timesLeft = settings.Times;
            signal = changed;
            changed = NewSignal();
        }

        signal.SetResult();
    }

    /// <summary>What a POST that arrives now will suffer; null when it will be served as the contract says.</summary>
    public FaultSettings? TakeForPost()
    {
        if (!current.HitsPayments)
            return null;
        lock (gate)
        {
            if (!current.HitsPayments || timesLeft == 0)
                return null;
            timesLeft--;
            return current;
        }
    }

    /// <summary>Holds a call until the fault is cleared, even when its times are used up, or until the stop.</summary>
    public async Task HoldWhileAsync(Predicate<FaultSettings> isSet, CancellationToken cancellation)
    {
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(stopping, cancellation);
        while (true)
        {
            Task next;
            lock (gate)
            {
                if (!isSet(current))
                    return;
                next = changed.Task;
            }

            await next.WaitAsync(ending.Token);
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}

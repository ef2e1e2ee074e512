namespace ProcessorSimulator.HealthChecking;

/// <summary>
/// Lets one health call through in each window of 5 s, counted from the first call, and queues two more until a window
/// turns; any thread may call it.
/// </summary>
internal sealed class HealthWindow : IDisposable
{
    private const int QueuedMax = 2;
    private static readonly TimeSpan Length = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(1);

    private readonly object gate = new();
    private readonly LinkedList<TaskCompletionSource<bool>> queue = new();
    private readonly TimeProvider clock;
    private readonly ITimer turn;
    private long? start;
    private bool used;

    public HealthWindow(TimeProvider clock)
    {
        this.clock = clock;
        turn = clock.CreateTimer(_ => Turn(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>False when the window and the queue are full; a caller that leaves makes way for another.</summary>
    public async ValueTask<bool> AcquireAsync(CancellationToken cancellation)
    {
        TaskCompletionSource<bool> waiter;
        lock (gate)
        {
            Turn_NeedsLock();
            if (!used)
                return used = true;
            if (queue.Count == QueuedMax)
                return false;
            waiter = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            queue.AddLast(waiter);
            Arm_NeedsLock();
        }

        await using var leaving = cancellation.UnsafeRegister(_ => Leave(waiter, cancellation), null);
        return await waiter.Task;
    }

    public void Dispose() => turn.Dispose();

    private void Leave(TaskCompletionSource<bool> waiter, CancellationToken cancellation)
    {
        lock (gate)
            queue.Remove(waiter);
        waiter.TrySetCanceled(cancellation);
    }

    private void Turn()
    {
        lock (gate)
        {
            Turn_NeedsLock();
            if (queue.Count > 0)
                Arm_NeedsLock();
        }
    }

    private void Turn_NeedsLock()
    {
        start ??= clock.GetTimestamp();
        var windows = clock.GetElapsedTime(start.Value) / Length;
        if (windows < 1)
            return;
        start += (long)windows * clock.TimestampFrequency * (long)Length.TotalSeconds;
        used = queue.First is not null;
        if (queue.First is not { } oldest)
            return;
        queue.RemoveFirst();
        oldest.Value.TrySetResult(true);
    }

    private void Arm_NeedsLock()
    {
        // Timers count whole milliseconds: one that fires a little early finds no turn, and is armed again.
        var left = Length - clock.GetElapsedTime(start!.Value);
        turn.Change(left < ShortestWait ? ShortestWait : left, Timeout.InfiniteTimeSpan);
    }
}

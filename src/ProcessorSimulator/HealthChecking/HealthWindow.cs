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

    private readonly object _gate = new();
    private readonly LinkedList<TaskCompletionSource<bool>> _queue = new();
    private readonly TimeProvider _clock;
    private readonly ITimer _turn;
    private long? _start;
    private bool _used;

    public HealthWindow(TimeProvider clock)
    {
        _clock = clock;
        _turn = clock.CreateTimer(_ => Turn(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>False when the window and the queue are full; a caller that leaves makes way for another.</summary>
    public async ValueTask<bool> AcquireAsync(CancellationToken cancellation)
    {
        TaskCompletionSource<bool> waiter;
        lock (_gate)
        {
            Turn_NeedsLock();
            if (!_used)
                return _used = true;
            if (_queue.Count == QueuedMax)
                return false;
            waiter = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            _queue.AddLast(waiter);
            Arm_NeedsLock();
        }

        await using var leaving = cancellation.UnsafeRegister(_ => Leave(waiter, cancellation), null);
        return await waiter.Task;
    }

    public void Dispose() => _turn.Dispose();

    private void Leave(TaskCompletionSource<bool> waiter, CancellationToken cancellation)
    {
        lock (_gate)
            _queue.Remove(waiter);
        waiter.TrySetCanceled(cancellation);
    }

    private void Turn()
    {
        lock (_gate)
        {
            Turn_NeedsLock();
            if (_queue.Count > 0)
                Arm_NeedsLock();
        }
    }

    private void Turn_NeedsLock()
    {
        _start ??= _clock.GetTimestamp();
        var windows = _clock.GetElapsedTime(_start.Value) / Length;
        if (windows < 1)
            return;
        _start += (long)windows * _clock.TimestampFrequency * (long)Length.TotalSeconds;
        _used = _queue.First is not null;
        if (_queue.First is not { } oldest)
            return;
        _queue.RemoveFirst();
        oldest.Value.TrySetResult(true);
    }

    private void Arm_NeedsLock()
    {
        // Timers count whole milliseconds: one that fires a little early finds no turn, and is armed again.
        var left = Length - _clock.GetElapsedTime(_start!.Value);
        _turn.Change(left < ShortestWait ? ShortestWait : left, Timeout.InfiniteTimeSpan);
    }
}

using System.Threading.Tasks.Sources;

namespace PaymentGateway.Queueing;

/// <summary>
/// Lets a batch linger while more comes, on a thread of its own in which the loop then runs on. Each wait for a timer
/// of the runtime wakes its thread twice and two of the pool's
/// (docs/decisions/0018-answers-are-handled-in-the-sockets-thread.md). Any thread may wait.
/// </summary>
internal sealed class BatchTimer : IDisposable
{
    // Less is no time to sleep for.
    private static readonly TimeSpan Shortest = TimeSpan.FromMilliseconds(1);

    // Real time, as the thread sleeps in it.
    private static readonly TimeProvider Clock = TimeProvider.System;

    private readonly object _gate = new();
    private readonly TimeSpan _period;

    // One for each: of several that wait for the same one, the runtime lets all but one run on in the pool.
    private readonly Stack<Wait> _spare = [];
    private List<Wait> _waiting = [];
    private List<Wait> _due = [];
    private bool _idle;
    private bool _fireNow;
    private bool _stopped;

    /// <param name="period">Real time between two ticks; zero: nobody waits.</param>
    /// <param name="name">The thread's.</param>
    public BatchTimer(TimeSpan period, string name)
    {
        _period = period;
        if (period > TimeSpan.Zero)
            new Thread(Run) { IsBackground = true, Name = name }.Start();
    }

    /// <summary>
    /// Ends with the next tick: a whole period from now when it is idle, at most one while it ticks. To be awaited
    /// once.
    /// </summary>
    public ValueTask NextAsync()
    {
        lock (_gate)
        {
            if (_period <= TimeSpan.Zero || _stopped || (_fireNow && _waiting.Count == 0))
            {
                _fireNow = false;
                return ValueTask.CompletedTask;
            }

            if (!_spare.TryPop(out var wait))
                wait = new Wait(this);
            _waiting.Add(wait);
            // Between two ticks a pulse would end the period.
            if (_idle)
                Monitor.Pulse(_gate);
            return wait.Tick;
        }
    }

    /// <summary>Has the next tick now. Whoever waits, or comes to wait next, runs on at once.</summary>
    public void FireNow()
    {
        lock (_gate)
        {
            _fireNow = true;
            Monitor.Pulse(_gate);
        }
    }

    /// <summary>Ends the thread; who waits still has his tick.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            _stopped = true;
            Monitor.Pulse(_gate);
        }
    }

    private void Run()
    {
        while (IdleUntilAwaited())
        {
            do
            {
                _due.Clear();
                lock (_gate)
                {
                    WaitOutPeriod_NeedsLock();
                    // While nobody waits it is kept for who comes next.
                    _fireNow &= _waiting.Count == 0;
                    (_due, _waiting) = (_waiting, _due);
                }

                foreach (var wait in _due)
                    wait.End();
            }
            while (_due.Count > 0);
        }
    }

    // A pulse by itself is no end: the call that it came with may have been used by somebody else.
    private void WaitOutPeriod_NeedsLock()
    {
        var left = _period;
        for (var beganAt = Clock.GetTimestamp(); !_fireNow && !_stopped && left >= Shortest;)
        {
            Monitor.Wait(_gate, left);
            left = _period - Clock.GetElapsedTime(beganAt);
        }
    }

    private bool IdleUntilAwaited()
    {
        lock (_gate)
        {
            _idle = true;
            while (_waiting.Count == 0 && !_stopped)
                Monitor.Wait(_gate);
            _idle = false;
            return _waiting.Count > 0;
        }
    }

    /// <summary>One wait after another.</summary>
    private sealed class Wait(BatchTimer timer) : IValueTaskSource
    {
        private ManualResetValueTaskSourceCore<bool> _source;

        public ValueTask Tick => new(this, _source.Version);

        public void End() => _source.SetResult(true);

        public void GetResult(short token)
        {
            _source.GetResult(token);
            _source.Reset();
            lock (timer._gate)
                timer._spare.Push(this);
        }

        public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

        public void OnCompleted(
            Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _source.OnCompleted(continuation, state, token, flags);
    }
}

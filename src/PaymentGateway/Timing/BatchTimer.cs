using System.Threading.Tasks.Sources;

namespace PaymentGateway.Timing;

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

    private readonly object gate = new();
    private readonly TimeSpan period;

    // One for each: of several that wait for the same one, the runtime lets all but one run on in the pool.
    private readonly Stack<Wait> spare = [];
    private List<Wait> waiting = [];
    private List<Wait> due = [];
    private bool idle;
    private bool fireNow;
    private bool stopped;

    /// <param name="period">Real time between two ticks; zero: nobody waits.</param>
    /// <param name="name">The thread's.</param>
    public BatchTimer(TimeSpan period, string name)
    {
        this.period = period;
        if (period > TimeSpan.Zero)
            new Thread(Run) { IsBackground = true, Name = name }.Start();
    }

    /// <summary>
    /// Ends with the next tick: a whole period from now when it is idle, at most one while it ticks. To be awaited
    /// once.
    /// </summary>
    public ValueTask NextAsync()
    {
        lock (gate)
        {
            if (period <= TimeSpan.Zero || stopped || (fireNow && waiting.Count == 0))
            {
                fireNow = false;
                return ValueTask.CompletedTask;
            }

            if (!spare.TryPop(out var wait))
                wait = new Wait(this);
            waiting.Add(wait);
            // Between two ticks a pulse would end the period.
            if (idle)
                Monitor.Pulse(gate);
            return wait.Tick;
        }
    }

    /// <summary>Has the next tick now. Whoever waits, or comes to wait next, runs on at once.</summary>
    public void FireNow()
    {
        lock (gate)
        {
            fireNow = true;
            Monitor.Pulse(gate);
        }
    }

    /// <summary>Ends the thread; who waits still has his tick.</summary>
    public void Dispose()
    {
        lock (gate)
        {
            stopped = true;
            Monitor.Pulse(gate);
        }
    }

    private void Run()
    {
        while (IdleUntilAwaited())
        {
            do
            {
                due.Clear();
                lock (gate)
                {
                    WaitOutPeriod_NeedsLock();
                    // While nobody waits it is kept for who comes next.
                    fireNow &= waiting.Count == 0;
                    (due, waiting) = (waiting, due);
                }

                foreach (var wait in due)
                    wait.End();
            }
            while (due.Count > 0);
        }
    }

    // A pulse by itself is no end: the call that it came with may have been used by somebody else.
    private void WaitOutPeriod_NeedsLock()
    {
        var left = period;
        for (var beganAt = Clock.GetTimestamp(); !fireNow && !stopped && left >= Shortest;)
        {
            Monitor.Wait(gate, left);
            left = period - Clock.GetElapsedTime(beganAt);
        }
    }

    private bool IdleUntilAwaited()
    {
        lock (gate)
        {
            idle = true;
            while (waiting.Count == 0 && !stopped)
                Monitor.Wait(gate);
            idle = false;
            return waiting.Count > 0;
        }
    }

    /// <summary>One wait after another.</summary>
    private sealed class Wait(BatchTimer timer) : IValueTaskSource
    {
        private ManualResetValueTaskSourceCore<bool> source;

        public ValueTask Tick => new(this, source.Version);

        public void End() => source.SetResult(true);

        public void GetResult(short token)
        {
            source.GetResult(token);
            source.Reset();
            lock (timer.gate)
                timer.spare.Push(this);
        }

        public ValueTaskSourceStatus GetStatus(short token) => source.GetStatus(token);

        public void OnCompleted(
            Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            source.OnCompleted(continuation, state, token, flags);
    }
}

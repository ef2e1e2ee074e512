namespace PaymentGateway;

/// <summary>
/// Lets a loop wait while more gathers, on a thread of its own in which the loop then runs on. Each wait for a timer of
/// the runtime wakes its thread twice and two of the pool's (docs/decisions.md, 40). Any thread may wait.
/// </summary>
internal sealed class Ticker : IDisposable
{
    private readonly object gate = new();
    private readonly TimeSpan period;

    // One for each: of several that wait for the same task, the runtime lets all but one run on in the pool.
    private List<TaskCompletionSource> waiting = [];
    private List<TaskCompletionSource> due = [];
    private bool stopped;

    /// <param name="period">Real time between two ticks; zero: nobody waits.</param>
    /// <param name="name">The thread's.</param>
    public Ticker(TimeSpan period, string name)
    {
        this.period = period;
        if (period > TimeSpan.Zero)
            new Thread(Run) { IsBackground = true, Name = name }.Start();
    }

    /// <summary>It has ended, and nobody waits any more.</summary>
    public bool IsStopped
    {
        get
        {
            lock (gate)
                return stopped;
        }
    }

    /// <summary>Ends with the next tick: a whole period from now when it rests, at most one while it ticks.</summary>
    public Task NextAsync()
    {
        lock (gate)
        {
            if (period <= TimeSpan.Zero || stopped)
                return Task.CompletedTask;

            var tick = new TaskCompletionSource();
            waiting.Add(tick);
            Monitor.Pulse(gate);
            return tick.Task;
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
        while (RestUntilAwaited())
        {
            do
            {
                due.Clear();
                Thread.Sleep(period);
                lock (gate)
                    (due, waiting) = (waiting, due);
                foreach (var tick in due)
                    tick.SetResult();
            }
            while (due.Count > 0);
        }
    }

    private bool RestUntilAwaited()
    {
        lock (gate)
        {
            while (waiting.Count == 0 && !stopped)
                Monitor.Wait(gate);
            return waiting.Count > 0;
        }
    }
}

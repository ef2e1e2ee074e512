namespace PaymentGateway;

/// <summary>
/// Lets a loop wait while more gathers, on a thread of its own in which the loop then runs on. Each wait for a timer of
/// the runtime wakes its thread twice and two of the pool's (docs/decisions.md, 40). Any thread may wait.
/// </summary>
internal sealed class Ticker : IDisposable
{
    private readonly object gate = new();
    private readonly TimeSpan period;
    private TaskCompletionSource? waiting;
    private bool stopped;

    /// <param name="period">Real time between two ticks; zero: nobody waits.</param>
    /// <param name="name">The thread's.</param>
    public Ticker(TimeSpan period, string name)
    {
        this.period = period;
        if (period > TimeSpan.Zero)
            new Thread(Run) { IsBackground = true, Name = name }.Start();
    }

    /// <summary>Ends with the next tick: a whole period from now when it rests, at most one while it ticks.</summary>
    public Task NextAsync()
    {
        lock (gate)
        {
            if (period <= TimeSpan.Zero || stopped)
                return Task.CompletedTask;

            Monitor.Pulse(gate);
            return (waiting ??= new TaskCompletionSource()).Task;
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
            TaskCompletionSource? due;
            do
            {
                Thread.Sleep(period);
                lock (gate)
                    (due, waiting) = (waiting, null);
                due?.SetResult();
            }
            while (due is not null);
        }
    }

    private bool RestUntilAwaited()
    {
        lock (gate)
        {
            while (waiting is null && !stopped)
                Monitor.Wait(gate);
            return waiting is not null;
        }
    }
}

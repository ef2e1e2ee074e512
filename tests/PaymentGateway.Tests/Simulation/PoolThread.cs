namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// The thread pool with one free thread, which stands while the schedule's thread runs. So all that the instances and
/// their libraries leave to the pool is done in one order, which a second execution of a seed repeats.
/// </summary>
internal sealed class PoolThread : IDisposable
{
    // On a machine with sixty that want to run, 30 s were too few.
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(3);

    private readonly ManualResetEventSlim _ends = new();
    private readonly ManualResetEventSlim _goesOn = new();
    private readonly int _workersMin, _portsMin, _workersMax, _portsMax, _all;
    private int _busyAlways;
    private volatile bool _stands;

    public PoolThread()
    {
        ThreadPool.GetMinThreads(out _workersMin, out _portsMin);
        ThreadPool.GetMaxThreads(out _workersMax, out _portsMax);
        // The test's own runner blocks some, and the others wait for the end.
        var blocked = Enumerable.Range(0, 50).Min(_ => BusyAfterAMoment());
        _all = Math.Max(blocked + 1, Environment.ProcessorCount);
        if (!ThreadPool.SetMinThreads(_all, 1) || !ThreadPool.SetMaxThreads(_all, _portsMax))
            throw new InvalidOperationException($"The pool cannot have {_all} threads.");
        for (; blocked < _all - 1; blocked++)
            Park();
        Stand();
    }

    /// <summary>Lets the pool go on until nothing runs there.</summary>
    /// <param name="unnoticed">Links whose instances have perhaps not read an answer, or an end; emptied.</param>
    public void AwaitStillness(List<DatabaseLink> unnoticed)
    {
        GoOn();
        Await(() => IsStill(unnoticed), () => $"{unnoticed.Count} links are unread");
        Stand();
    }

    /// <summary>Lets the pool go on until something of no instance is done.</summary>
    public T Await<T>(Func<Task<T>> work)
    {
        GoOn();
        var done = Task.Run(work);
        Await(() => done.IsCompleted, () => "what is awaited does not end");
        Stand();
        return done.GetAwaiter().GetResult();
    }

    public void Dispose()
    {
        _ends.Set();
        GoOn();
        ThreadPool.SetMaxThreads(_workersMax, _portsMax);
        ThreadPool.SetMinThreads(_workersMin, _portsMin);
    }

    private bool IsStill(List<DatabaseLink> unnoticed)
    {
        unnoticed.RemoveAll(link => link.IsNoticed());
        if (unnoticed.Count > 0)
            return false;

        var busy = Busy();
        if (ThreadPool.PendingWorkItemCount > 0)
            return false;

        _busyAlways = Math.Min(_busyAlways, busy);
        return busy <= _busyAlways;
    }

    private void GoOn() => _goesOn.Set();

    private void Stand()
    {
        _goesOn.Reset();
        _stands = false;
        ThreadPool.UnsafeQueueUserWorkItem(
            _ =>
            {
                _stands = true;
                _goesOn.Wait();
            },
            null);
        Await(() => _stands, () => "the free one does not stand");
        // The test's own runner has given back one that it had blocked: two free ones would have no order.
        while (Busy() < _all)
            Park();
        _busyAlways = _all - 1;
    }

    // For good, so that one fewer is free.
    private void Park()
    {
        var isParked = false;
        ThreadPool.UnsafeQueueUserWorkItem(
            _ =>
            {
                Volatile.Write(ref isParked, true);
                _ends.Wait();
            },
            null);
        Await(() => Volatile.Read(ref isParked), () => "none can be parked");
    }

    private void Await(Func<bool> isSo, Func<string> otherwise)
    {
        var since = Stopwatch.GetTimestamp();
        for (var spins = 0; !isSo(); spins++)
        {
            if (spins % 1_000 == 999 && Stopwatch.GetElapsedTime(since) > Patience)
                throw new TimeoutException(
                    $"{Busy()} of {_all} threads of the pool are busy, {_busyAlways} always: {otherwise()}");

            if (spins > 20)
                Thread.Yield();
        }
    }

    private static int Busy()
    {
        ThreadPool.GetAvailableThreads(out var free, out _);
        ThreadPool.GetMaxThreads(out var all, out _);
        return all - free;
    }

    private static int BusyAfterAMoment()
    {
        Thread.Sleep(1);
        return Busy();
    }
}

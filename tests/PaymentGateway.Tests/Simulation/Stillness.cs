namespace PaymentGateway.Tests.Simulation;

/// <summary>Waits until nothing of the gateway runs in the thread pool.</summary>
internal static class Stillness
{
    // On a machine with sixty that want to run, 30 s were too few.
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(3);

    // The test's own runner blocks some.
    private static int _busyAlways = Enumerable.Range(0, 50).Min(_ => BusyAfterAMoment());

    /// <param name="delivered">Links with answers that their instances have perhaps not read; emptied.</param>
    public static void Await(List<DatabaseLink> delivered)
    {
        var since = Stopwatch.GetTimestamp();
        for (var spins = 0; ; spins++)
        {
            delivered.RemoveAll(link => !link.IsUnread);
            if (delivered.Count == 0)
            {
                var busy = Busy();
                if (ThreadPool.PendingWorkItemCount == 0)
                {
                    _busyAlways = Math.Min(_busyAlways, busy);
                    if (busy <= _busyAlways)
                        return;
                }
            }

            if (spins % 1_000 == 999 && Stopwatch.GetElapsedTime(since) > Patience)
                throw new TimeoutException(
                    $"{Busy()} threads of the pool are busy, {_busyAlways} always, {delivered.Count} links unread");

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

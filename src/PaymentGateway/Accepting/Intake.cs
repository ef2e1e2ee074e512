using PaymentGateway.Owning;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;

namespace PaymentGateway.Accepting;

/// <summary>
/// Takes payments in by group commit: what waits goes into the next INSERT together, and a lone payment goes at
/// once. Acknowledged means stored (or received, where that is set). Safe from any thread.
/// </summary>
internal sealed partial class Intake(
    PaymentStore store, Lease lease, AcceptanceClock acceptances, StoredBacklog backlog, PaymentQueue queue,
    OpenPayments open, IntakeOptions options, TimeProvider clock, ILogger<Intake> log)
    : IHostedService
{
    private static readonly TimeSpan RetryReceived = TimeSpan.FromMilliseconds(200);

    private readonly object gate = new();
    private List<PendingAcceptance> waiting = [];
    private int underWay;
    private int stuck;

    private bool AcknowledgesReceived => options.Acknowledge == Acknowledge.Received;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>The listener is closed by now; what was received and not yet stored is stored.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        while (!IsIdle && !cancellationToken.IsCancellationRequested)
            await Task.Delay(TimeSpan.FromMilliseconds(10), clock, CancellationToken.None);
    }

    /// <summary>Takes one payment in.</summary>
    /// <returns>Within StoreTimeout; Accepted only when the row is committed (Stored) or held in memory (Received).</returns>
    public ValueTask<AcceptResult> AcceptAsync(Guid id, long amountCents)
    {
        var acceptance = new PendingAcceptance(id, amountCents);
        List<PendingAcceptance>? batch;
        lock (gate)
        {
            // With every place stuck in a statement that does not answer, waiting would only be a slower no.
            if (waiting.Count >= options.MaxWaiting || stuck >= options.MaxBatchesInFlight)
                return new ValueTask<AcceptResult>(AcceptResult.Overloaded);

            waiting.Add(acceptance);
            batch = TakeBatch_NeedsLock();
        }

        if (batch is not null)
            _ = RunAsync(batch);
        return AcknowledgesReceived ? new ValueTask<AcceptResult>(AcceptResult.Accepted) : acceptance.Result;
    }

    private bool IsIdle
    {
        get
        {
            lock (gate)
                return waiting.Count == 0 && underWay == 0;
        }
    }

    private List<PendingAcceptance>? TakeBatch_NeedsLock()
    {
        if (waiting.Count == 0 || underWay >= options.MaxBatchesInFlight)
            return null;

        // Received payments gather first, so that they share a statement: a second place is for a full batch only.
        if (AcknowledgesReceived && underWay > 0 && waiting.Count < options.MaxBatch)
            return null;

        underWay++;
        return AcknowledgesReceived ? [] : Fill_NeedsLock([]);
    }

    private List<PendingAcceptance> Fill_NeedsLock(List<PendingAcceptance> batch)
    {
        if (batch.Count == 0 && waiting.Count <= options.MaxBatch)
        {
            (batch, waiting) = (waiting, batch);
            return batch;
        }

        var take = Math.Min(waiting.Count, options.MaxBatch);
        batch.AddRange(waiting.GetRange(0, take));
        waiting.RemoveRange(0, take);
        return batch;
    }

    private async Task RunAsync(List<PendingAcceptance>? batch)
    {
        while (batch is not null)
        {
            try
            {
                if (AcknowledgesReceived)
                {
                    await Task.Delay(options.ReceivedGather, clock);
                    lock (gate)
                        batch = Fill_NeedsLock(batch);
                }

                if (batch.Count > 0)
                    await StoreAsync(batch);
            }
            catch (Exception failed)
            {
                Log.StoringFailed(log, batch.Count, failed.Message);
                CompleteAll(batch, AcceptResult.Unavailable);
            }

            lock (gate)
            {
                underWay--;
                batch = TakeBatch_NeedsLock();
            }
        }
    }

    private async Task StoreAsync(List<PendingAcceptance> batch)
    {
        // Two batches with the same ids in another order would deadlock in the database.
        batch.Sort(static (one, other) => one.Id.CompareTo(other.Id));
        var times = acceptances.Begin(batch.Count);
        try
        {
            var args = ToArgs(batch, times);
            if (AcknowledgesReceived)
                await StoreReceivedAsync(batch, args, times);
            else
                await StoreAwaitedAsync(batch, args, times);
        }
        catch
        {
            // It may have been committed before the connection broke, and then somebody must find it.
            backlog.AddUncertain(times);
            throw;
        }
        finally
        {
            acceptances.End(times);
        }
    }

    private async Task StoreAwaitedAsync(List<PendingAcceptance> batch, StoreArgs args, AcceptanceBatch times)
    {
        var storing = store.StoreAsync(args);
        if (!storing.IsCompleted)
            await WaitAsync(storing, batch);
        if (await storing == batch.Count)
        {
            CompleteAll(batch, AcceptResult.Accepted);
            Enqueue(args, times, null);
        }
        else if (!await SortOutKnownAsync(batch, args, times))
        {
            CompleteAll(batch, AcceptResult.Unavailable);
        }
    }

    // Acknowledged already, so there is no giving up; the bound on what waits says no to newer ones meanwhile.
    private async Task StoreReceivedAsync(List<PendingAcceptance> batch, StoreArgs args, AcceptanceBatch times)
    {
        while (true)
        {
            try
            {
                args = args with { Owner = lease.Epoch };
                if (await store.StoreAsync(args) == batch.Count)
                {
                    Enqueue(args, times, null);
                    return;
                }

                if (await SortOutKnownAsync(batch, args, times))
                    return;
            }
            catch (Exception away) when (away is not OperationCanceledException)
            {
                Log.StoringFailed(log, batch.Count, away.Message);
            }

            await Task.Delay(RetryReceived, clock);
        }
    }

    // Bounds the clients' wait without giving the statement up: what it stores is settled all the same.
    private async Task WaitAsync(Task<int> storing, List<PendingAcceptance> batch)
    {
        try
        {
            await storing.WaitAsync(options.StoreTimeout, clock);
        }
        catch (TimeoutException) when (!storing.IsCompleted)
        {
            Interlocked.Increment(ref stuck);
            CompleteAll(batch, AcceptResult.Unavailable);
            RefuseWaiting();
            await storing.ContinueWith(static _ => { }, TaskScheduler.Default);
            Interlocked.Decrement(ref stuck);
        }
    }

    /// <summary>Fewer were new than given: some ids were known, or the epoch is closed and nothing was stored.</summary>
    /// <returns>False when nothing of the batch is ours and some of it is not stored at all.</returns>
    private async Task<bool> SortOutKnownAsync(List<PendingAcceptance> batch, StoreArgs args, AcceptanceBatch times)
    {
        var known = (await store.FindAsync(args.Ids)).ToDictionary(row => row.CorrelationId);
        var mine = new bool[batch.Count];
        var missing = false;
        for (var i = 0; i < batch.Count; i++)
        {
            if (!known.TryGetValue(batch[i].Id, out var row))
            {
                missing = true;
                continue;
            }

            mine[i] = row.AcceptedAt == args.AcceptedAts[i] && row.Owner == args.Owner;
            var same = row.AmountCents == batch[i].AmountCents;
            if (!same && AcknowledgesReceived)
                Log.AmountConflict(log, batch[i].Id, batch[i].AmountCents, row.AmountCents);
            batch[i].Complete(same ? AcceptResult.Accepted : AcceptResult.Conflict);
        }

        if (missing)
            lease.CheckSoon.Set();
        var anyMine = Array.IndexOf(mine, true) >= 0;
        if (anyMine)
            Enqueue(args, times, mine);
        return anyMine || !missing;
    }

    // Oldest first: while older ones wait in the table, these must queue up behind them there.
    private void Enqueue(StoreArgs args, AcceptanceBatch times, bool[]? mine)
    {
        if (backlog.HasOverflow || queue.Room < args.Ids.Length)
        {
            backlog.AddOverflow(times);
            return;
        }

        for (var i = 0; i < args.Ids.Length; i++)
        {
            if (mine is not null && !mine[i])
                continue;

            var payment = new Payment(args.Ids[i], args.AmountsCents[i], args.AcceptedAts[i], args.Owner);
            open.Add(payment);
            if (!queue.TryAdd(payment))
                queue.Return(payment);
        }
    }

    private StoreArgs ToArgs(List<PendingAcceptance> batch, AcceptanceBatch times)
    {
        var args = new StoreArgs(new Guid[batch.Count], new long[batch.Count], new DateTime[batch.Count], lease.Epoch);
        for (var i = 0; i < batch.Count; i++)
        {
            args.Ids[i] = batch[i].Id;
            args.AmountsCents[i] = batch[i].AmountCents;
            args.AcceptedAts[i] = times.At(i);
        }

        return args;
    }

    private void RefuseWaiting()
    {
        List<PendingAcceptance> refused;
        lock (gate)
        {
            if (stuck < options.MaxBatchesInFlight)
                return;

            (refused, waiting) = (waiting, []);
        }

        CompleteAll(refused, AcceptResult.Unavailable);
    }

    private static void CompleteAll(List<PendingAcceptance> batch, AcceptResult result)
    {
        foreach (var acceptance in batch)
            acceptance.Complete(result);
    }

    private static partial class Log
    {
        [LoggerMessage(100, LogLevel.Error, "{Count} payments could not be stored: {Reason}")]
        public static partial void StoringFailed(ILogger log, int count, string reason);

        [LoggerMessage(101, LogLevel.Error, "Payment {Id} was received again with {Received} cents, stored are {Stored}; it keeps these")]
        public static partial void AmountConflict(ILogger log, Guid id, long received, long stored);
    }
}

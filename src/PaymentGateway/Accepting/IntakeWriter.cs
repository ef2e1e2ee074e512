using PaymentGateway.Owning;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;

namespace PaymentGateway.Accepting;

/// <summary>
/// Stores one batch of acceptances, answers each, and hands what is new to the queue, or notes that it waits in the
/// table. Safe from any thread.
/// </summary>
internal sealed partial class IntakeWriter(
    PaymentStore store, Lease lease, AcceptanceClock acceptances, StoredBacklog backlog, PaymentQueue queue,
    OpenPayments open, IntakeOptions options, TimeProvider clock, ILogger<IntakeWriter> log)
{
    private static readonly TimeSpan RetryReceived = TimeSpan.FromMilliseconds(200);

    private bool AcknowledgesReceived => options.Acknowledge == Acknowledge.Received;

    /// <summary>Stores a batch; when it ends, every acceptance in it is completed.</summary>
    public async Task StoreAsync(List<PendingAcceptance> batch)
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
        catch (Exception failed)
        {
            // It may have been committed before the connection broke, and then somebody must find it.
            backlog.AddUncertain(times);
            Log.StoringFailed(log, batch.Count, failed.Message);
            PendingAcceptance.CompleteAll(batch, AcceptResult.Unavailable);
        }
        finally
        {
            acceptances.End(times);
        }
    }

    private async Task StoreAwaitedAsync(List<PendingAcceptance> batch, StoreArgs args, AcceptanceBatch times)
    {
        if (await store.StoreAsync(args) == batch.Count)
        {
            PendingAcceptance.CompleteAll(batch, AcceptResult.Accepted);
            Enqueue(args, times, null);
        }
        else if (!await SortOutKnownAsync(batch, args, times))
        {
            PendingAcceptance.CompleteAll(batch, AcceptResult.Unavailable);
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

    /// <summary>
    /// Fewer were new than given: some ids were known, or the epoch is closed and nothing was stored.
    /// </summary>
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

    private static partial class Log
    {
        [LoggerMessage(100, LogLevel.Error, "{Count} payments could not be stored: {Reason}")]
        public static partial void StoringFailed(ILogger log, int count, string reason);

        [LoggerMessage(101, LogLevel.Error,
            "Payment {Id} was received again with {Received} cents, stored are {Stored}; it keeps these")]
        public static partial void AmountConflict(ILogger log, Guid id, long received, long stored);
    }
}

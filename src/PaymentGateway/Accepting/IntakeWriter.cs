using Npgsql;
using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Accepting;

/// <summary>
/// Stores one batch of acceptances, answers each, and hands what is new to the queue, or notes that it waits in the
/// table. Safe from any thread.
/// </summary>
internal sealed partial class IntakeWriter(
    PaymentStore store, Lease lease, AcceptanceClock acceptances, StoredBacklog backlog, PaymentQueue queue,
    UnsettledPayments unsettled, GatewayMetrics metrics, TimeProvider clock, ILogger<IntakeWriter> log)
{
    // For the parts of a batch that was held up by an id: each has waited for it already.
    private const string ShortLockTimeout = "10ms";

    private readonly OutageLog _outage = new();

    /// <summary>Stores a batch; when it ends, every acceptance in it is completed.</summary>
    public Task StoreAsync(List<PendingAcceptance> batch)
    {
        // Two batches with the same ids in another order would deadlock in the database.
        batch.Sort(static (one, other) => one.Id.CompareTo(other.Id));
        return StoreAsync(batch, isPart: false);
    }

    private async Task StoreAsync(List<PendingAcceptance> batch, bool isPart)
    {
        var times = acceptances.Begin(batch.Count);
        var args = PendingAcceptance.ToStore(batch, times, lease.Epoch);
        if (isPart)
            args = args with { LockTimeout = ShortLockTimeout };
        var generation = unsettled.Generation;
        StoredBatch? stored = null;
        try
        {
            stored = await StoreOnceAsync(batch, args);
        }
        catch (PostgresException blocked) when (IsBlocked(blocked))
        {
            // Nothing of it was stored, for the sake of an id that another transaction holds. The rest need not wait.
            if (batch.Count > 1)
            {
                acceptances.End(times);
                var half = batch.Count / 2;
                await Task.WhenAll(
                    StoreAsync(batch.GetRange(0, half), isPart: true),
                    StoreAsync(batch.GetRange(half, batch.Count - half), isPart: true));
                return;
            }

            ReportFailed(batch.Count, blocked.MessageText);
        }
        catch (Exception failed)
        {
            // It may have been committed before the connection broke, and then somebody must find it.
            backlog.AddUncertain(times);
            ReportFailed(batch.Count, failed.Message);
        }

        // Before the answer: a client that has its 202 sends the next one, and that may not overtake.
        if (stored is not null)
        {
            Enqueue(batch, stored, times, generation);
            _outage.Succeed();
        }

        acceptances.End(times);
        if (stored?.Known is { } known)
            for (var i = 0; i < known.Length; i++)
                batch[i].Complete(known[i]);
        else
            PendingAcceptance.CompleteAll(
                batch, stored is null ? AcceptResult.Unavailable : AcceptResult.Accepted);
    }

    private async Task<StoredBatch> StoreOnceAsync(List<PendingAcceptance> batch, StoreArgs args)
    {
        var sentAt = clock.GetTimestamp();
        try
        {
            if (await store.StoreAsync(args) == batch.Count)
                return new StoredBatch(args);
        }
        finally
        {
            metrics.StoreBatchSize.Record(batch.Count);
            metrics.StoreDuration.Record(clock.GetElapsedTime(sentAt).TotalSeconds);
        }

        return await SortOutKnownAsync(batch, args);
    }

    /// <summary>
    /// Fewer were new than given: some ids were known, or the epoch is closed and nothing was stored.
    /// </summary>
    private async Task<StoredBatch> SortOutKnownAsync(List<PendingAcceptance> batch, StoreArgs args)
    {
        var known = (await store.FindAsync(args.Ids)).ToDictionary(row => row.CorrelationId);
        var mine = new bool[batch.Count];
        var results = new AcceptResult[batch.Count];
        var missing = false;
        for (var i = 0; i < batch.Count; i++)
        {
            if (!known.TryGetValue(batch[i].Id, out var row))
            {
                missing = true;
                results[i] = AcceptResult.Unavailable;
                continue;
            }

            mine[i] = row.AcceptedAt == args.AcceptedAts[i] && row.OwnerEpoch == args.OwnerEpoch;
            results[i] = row.AmountCents == batch[i].AmountCents ? AcceptResult.Accepted : AcceptResult.Conflict;
        }

        if (missing)
            lease.CheckSoon.Set();
        return new StoredBatch(args, mine, results);
    }

    // Oldest first: while older ones wait in the table, these must queue up behind them there. So must those that may
    // have been purged between their INSERT and now: what of them is left is read again.
    private void Enqueue(
        List<PendingAcceptance> batch, StoredBatch stored, AcceptanceBatch times, int generation)
    {
        var (args, mine, _) = stored;
        stored.CountIn(metrics);
        var payments = new List<Payment>(args.Ids.Length);
        for (var i = 0; i < args.Ids.Length; i++)
            if (mine is null || mine[i])
                payments.Add(new Payment(args.Ids[i], args.AmountsCents[i], args.AcceptedAts[i], args.OwnerEpoch)
                {
                    Trace = batch[i].Trace,
                });
        if (backlog.HasOverflow || queue.RemainingCapacity < args.Ids.Length || !unsettled.TryAdd(payments, generation))
        {
            backlog.AddOverflow(times);
            return;
        }

        queue.AddAll(payments);
    }

    private static bool IsBlocked(Exception failed) =>
        failed is PostgresException { SqlState: PostgresErrorCodes.LockNotAvailable };

    private void ReportFailed(int count, string reason)
    {
        var level = _outage.Fail(LogLevel.Error);
        Log.StoringFailed(log, level, count, reason);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 100, Message = "{Count} payments could not be stored: {Reason}")]
        public static partial void StoringFailed(ILogger log, LogLevel level, int count, string reason);
    }
}

/// <summary>What came of a batch.</summary>
/// <param name="Args">As it was stored.</param>
/// <param name="Mine">Which of it is new, and so ours to settle; null when all is.</param>
/// <param name="Known">What each of it is answered; null when all is accepted.</param>
internal sealed record StoredBatch(StoreArgs Args, bool[]? Mine = null, AcceptResult[]? Known = null)
{
    /// <summary>Counts what is new, what was known, and what was known with another amount.</summary>
    public void CountIn(GatewayMetrics metrics)
    {
        var (accepted, duplicates, conflicts) = (Args.Ids.Length, 0, 0);
        for (var i = 0; i < Mine?.Length; i++)
        {
            if (Mine[i])
                continue;

            accepted--;
            if (Known![i] == AcceptResult.Accepted)
                duplicates++;
            else if (Known[i] == AcceptResult.Conflict)
                conflicts++;
        }

        metrics.Accepted.Add(accepted);
        if (duplicates > 0)
            metrics.Duplicates.Add(duplicates);
        if (conflicts > 0)
            metrics.Refused.Add(conflicts, Reasons.Conflict);
    }
}

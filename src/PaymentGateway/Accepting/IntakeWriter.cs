using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Accepting;

/// <summary>
/// Stores a batch of payments, answers each request, and enqueues the new payments or notes that they wait in the
/// table. Safe from any thread.
/// </summary>
internal sealed partial class IntakeWriter(
    PaymentStore store, Lease lease, GatewayMetrics metrics, TimeProvider clock, ILogger<IntakeWriter> log)
{
    // For the halves of a batch whose INSERT has already waited for a locked id.
    private const string ShortLockTimeout = "10ms";

    private readonly OutageLog _outage = new();

    /// <summary>Stores a batch, and completes every acceptance in it.</summary>
    public Task StoreAsync(List<PendingAcceptance> batch)
    {
        // Two batches with the same ids in another order would deadlock in the database.
        batch.Sort(static (one, other) => one.Payment.Id.CompareTo(other.Payment.Id));
        return StoreAsync(batch, isPart: false);
    }

    private async Task StoreAsync(List<PendingAcceptance> batch, bool isPart)
    {
        var epoch = lease.Current;
        var times = epoch.Acceptances.Begin(batch.Count);
        DateTime[] stored;
        try
        {
            stored = await InsertAsync(ToArgs(batch, times, epoch, isPart));
        }
        catch (PostgresException blocked) when (blocked.SqlState == PostgresErrorCodes.LockNotAvailable
            && batch.Count > 1)
        {
            // The INSERT stored nothing, because another transaction holds one of the ids. Other ids need not wait.
            epoch.Acceptances.End(times);
            var half = batch.Count / 2;
            await Task.WhenAll(
                StoreAsync(batch.GetRange(0, half), isPart: true),
                StoreAsync(batch.GetRange(half, batch.Count - half), isPart: true));
            return;
        }
        catch (Exception failed)
        {
            // An error of PostgreSQL proves that nothing was stored. Otherwise the INSERT may have been committed
            // before the connection broke, or still be. The next epoch finds what it has stored; until then these times
            // stay in the low-water mark.
            if (failed is not (PostgresException { InvariantSeverity: "ERROR" } or NotSentException))
            {
                epoch.Backlog.AddBroken(times);
                epoch.Spoil("an INSERT of payments broke");
            }

            epoch.Acceptances.End(times);
            ReportFailed(batch.Count, failed);
            batch.ForEach(static acceptance => acceptance.TrySetResult(AcceptResult.Unavailable));
            return;
        }

        _outage.Succeed();
        // Before the answer, otherwise the client's next payment could overtake this one; and before any other
        // statement, because that may fail, and these are stored.
        var added = batch.ConvertAll(static acceptance => acceptance.Payment);
        if (stored.Length < batch.Count)
            added.RemoveAll(payment => !Array.Exists(stored, at => at == payment.AcceptedAt));
        Enqueue(added, times, epoch);
        epoch.Acceptances.End(times);
        if (added.Count < batch.Count)
            await AnswerAsync(batch, await SortOutAsync(batch, added), epoch);
        else
            batch.ForEach(static acceptance => acceptance.TrySetResult(AcceptResult.Accepted));
    }

    // A closed epoch stores nothing. The payments of such a batch are stored once more if the next epoch has begun
    // meanwhile, because their clients would have to repeat them otherwise.
    private async Task AnswerAsync(List<PendingAcceptance> batch, AcceptResult[] results, Epoch epoch)
    {
        var again = new List<PendingAcceptance>();
        for (var i = 0; i < batch.Count; i++)
            if (results[i] == AcceptResult.Unavailable && lease.Current != epoch)
                again.Add(batch[i]);
            else
                batch[i].TrySetResult(results[i]);
        if (again.Count > 0)
            await StoreAsync(again, isPart: true);
    }

    /// <returns>The acceptance times of the new payments, which the epoch now owns.</returns>
    private async Task<DateTime[]> InsertAsync(StoreArgs args)
    {
        var sentAt = clock.GetTimestamp();
        try
        {
            return await store.StoreAsync(args);
        }
        finally
        {
            metrics.StoreBatchSize.Record(args.Ids.Length);
            metrics.StoreDuration.Record(clock.GetElapsedTime(sentAt).TotalSeconds);
        }
    }

    private static StoreArgs ToArgs(List<PendingAcceptance> batch, AcceptanceBatch times, Epoch epoch, bool isPart)
    {
        var args = new StoreArgs(
            new Guid[batch.Count], new long[batch.Count], new DateTime[batch.Count], new int[batch.Count],
            epoch.Number);
        for (var i = 0; i < batch.Count; i++)
        {
            var payment = batch[i].Payment;
            payment.Stamp(times.At(i), args.OwnerEpoch);
            args.Ids[i] = payment.Id;
            args.AmountsCents[i] = payment.AmountCents;
            args.AcceptedAts[i] = payment.AcceptedAt;
            args.Payers[i] = batch[i].Payer;
        }

        return isPart ? args with { LockTimeout = ShortLockTimeout } : args;
    }

    // Some ids were known, or the epoch is closed and nothing was stored. The INSERT itself says which are new, because
    // another server of the database may show a committed row late.
    private async Task<AcceptResult[]> SortOutAsync(List<PendingAcceptance> batch, List<Payment> added)
    {
        var known = await FindAsync(batch);
        var results = new AcceptResult[batch.Count];
        for (var i = 0; i < batch.Count; i++)
        {
            var payment = batch[i].Payment;
            if (added.Contains(payment))
                results[i] = AcceptResult.Accepted;
            else if (known.TryGetValue(payment.Id, out var row))
                results[i] = (row.AmountCents, row.Payer) == (payment.AmountCents, batch[i].Payer)
                    ? AcceptResult.Accepted
                    : AcceptResult.Conflict;
        }

        if (results.Contains(AcceptResult.Unavailable))
            lease.CheckSoon.Set();
        var conflicts = results.Count(result => result == AcceptResult.Conflict);
        metrics.Duplicates.Add(results.Count(result => result == AcceptResult.Accepted) - added.Count);
        if (conflicts > 0)
            metrics.Refused.Add(conflicts, Reasons.Conflict);
        return results;
    }

    private async Task<Dictionary<Guid, StoredPayment>> FindAsync(List<PendingAcceptance> batch)
    {
        try
        {
            var rows = await store.FindAsync([.. batch.Select(acceptance => acceptance.Payment.Id)]);
            return rows.ToDictionary(row => row.CorrelationId);
        }
        catch (Exception failed)
        {
            // The clients of the payments that were not added get 503, and repeat them.
            ReportFailed(batch.Count, failed);
            return [];
        }
    }

    // New payments go to the table while older ones wait there, otherwise they would be charged before these. If the
    // epoch has ended meanwhile, the next one takes them over.
    private void Enqueue(List<Payment> added, AcceptanceBatch times, Epoch epoch)
    {
        metrics.Accepted.Add(added.Count);
        if (epoch.Backlog.HasOverflow || epoch.Queue.RemainingCapacity < added.Count)
        {
            epoch.Backlog.Add(times);
            return;
        }

        added.ForEach(epoch.Unsettled.Add);
        epoch.Queue.AddAll(added);
    }

    private void ReportFailed(int count, Exception failed)
    {
        var level = _outage.Fail(LogLevel.Error);
        Log.StoringFailed(log, level, count, (failed as PostgresException)?.MessageText ?? failed.Message);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 100, Message = "Failed to store {Count} payments: {Reason}")]
        public static partial void StoringFailed(ILogger log, LogLevel level, int count, string reason);
    }
}

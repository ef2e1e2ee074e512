using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Accepting;

/// <summary>
/// Stores a batch of payments, answers each request, and enqueues the new payments or notes that they wait in the
/// table. Safe from any thread.
/// </summary>
internal sealed partial class IntakeWriter(
    PaymentStore store, Lease lease, AcceptanceClock acceptances, StoredBacklog backlog, PaymentQueue queue,
    UnsettledPayments unsettled, GatewayMetrics metrics, TimeProvider clock, ILogger<IntakeWriter> log)
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
        var times = acceptances.Begin(batch.Count);
        var args = ToArgs(batch, times);
        if (isPart)
            args = args with { LockTimeout = ShortLockTimeout };
        var generation = unsettled.Generation;
        var added = new List<Payment>(batch.Count);
        var result = AcceptResult.Unavailable;
        AcceptResult[]? results = null;
        try
        {
            results = await StoreOnceAsync(batch, args, added);
            // Enqueue before the answer, otherwise the client's next payment could overtake this one.
            Enqueue(added, times, generation);
            _outage.Succeed();
            result = AcceptResult.Accepted;
        }
        catch (PostgresException blocked) when (blocked.SqlState == PostgresErrorCodes.LockNotAvailable)
        {
            // The INSERT stored nothing, because another transaction holds one of the ids. Other ids need not wait.
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
            // The INSERT may have been committed before the connection broke, so its times are read later.
            backlog.Add(times, isUncertain: true);
            ReportFailed(batch.Count, failed.Message);
        }

        acceptances.End(times);
        for (var i = 0; i < batch.Count; i++)
            batch[i].TrySetResult(results is null ? result : results[i]);
    }

    private StoreArgs ToArgs(List<PendingAcceptance> batch, AcceptanceBatch times)
    {
        var args = new StoreArgs(
            new Guid[batch.Count], new long[batch.Count], new DateTime[batch.Count], lease.Epoch);
        for (var i = 0; i < batch.Count; i++)
        {
            var payment = batch[i].Payment;
            payment.Stamp(times.At(i), args.OwnerEpoch);
            args.Ids[i] = payment.Id;
            args.AmountsCents[i] = payment.AmountCents;
            args.AcceptedAts[i] = payment.AcceptedAt;
        }

        return args;
    }

    /// <param name="added">Receives the new payments, which this instance now owns.</param>
    /// <returns>One result per payment; null when all are new.</returns>
    private async Task<AcceptResult[]?> StoreOnceAsync(
        List<PendingAcceptance> batch, StoreArgs args, List<Payment> added)
    {
        var sentAt = clock.GetTimestamp();
        DateTime[] stored;
        try
        {
            stored = await store.StoreAsync(args);
        }
        finally
        {
            metrics.StoreBatchSize.Record(batch.Count);
            metrics.StoreDuration.Record(clock.GetElapsedTime(sentAt).TotalSeconds);
        }

        if (stored.Length < batch.Count)
            return await SortOutKnownAsync(batch, args, stored, added);

        foreach (var acceptance in batch)
            added.Add(acceptance.Payment);
        return null;
    }

    // Some ids were known, or the epoch is closed and nothing was stored. The INSERT itself says which are new, because
    // another server of the database may show a committed row late.
    private async Task<AcceptResult[]> SortOutKnownAsync(
        List<PendingAcceptance> batch, StoreArgs args, DateTime[] stored, List<Payment> added)
    {
        var known = (await store.FindAsync(args.Ids)).ToDictionary(row => row.CorrelationId);
        var results = new AcceptResult[batch.Count];
        for (var i = 0; i < batch.Count; i++)
        {
            var payment = batch[i].Payment;
            if (Array.Exists(stored, at => at == payment.AcceptedAt))
                added.Add(payment);
            else if (!known.TryGetValue(payment.Id, out var row))
                results[i] = AcceptResult.Unavailable;
            else if (row.AmountCents != payment.AmountCents)
                results[i] = AcceptResult.Conflict;
        }

        if (results.Contains(AcceptResult.Unavailable))
            lease.CheckSoon.Set();
        var conflicts = results.Count(result => result == AcceptResult.Conflict);
        metrics.Duplicates.Add(results.Count(result => result == AcceptResult.Accepted) - added.Count);
        if (conflicts > 0)
            metrics.Refused.Add(conflicts, Reasons.Conflict);
        return results;
    }

    // While older payments wait in the table, new ones wait there behind them. A batch that a purge may have hit after
    // its INSERT is also read again from the table.
    private void Enqueue(List<Payment> added, AcceptanceBatch times, int generation)
    {
        metrics.Accepted.Add(added.Count);
        if (backlog.HasOverflow || queue.RemainingCapacity < added.Count || !unsettled.TryAdd(added, generation))
            backlog.Add(times);
        else
            queue.AddAll(added);
    }

    private void ReportFailed(int count, string reason)
    {
        var level = _outage.Fail(LogLevel.Error);
        Log.StoringFailed(log, level, count, reason);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 100, Message = "Failed to store {Count} payments: {Reason}")]
        public static partial void StoringFailed(ILogger log, LogLevel level, int count, string reason);
    }
}

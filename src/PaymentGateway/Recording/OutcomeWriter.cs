using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Recording;

/// <summary>Writes outcomes into the ledger in batches, and retries each batch until it is in.</summary>
internal sealed partial class OutcomeWriter(
    SettlementLedger ledger, PaymentStore payments, LedgerStateStore states, UnwrittenOutcomes outcomes, Lease lease,
    DetachedTasks detached, GatewayMetrics metrics, TimeProvider clock, ILogger<OutcomeWriter> log)
    : BackgroundService
{
    private static readonly TimeSpan RetryInitial = TimeSpan.FromMilliseconds(100);

    // Below a summary's limit, because summaries wait for unwritten outcomes when the database is back.
    private static readonly TimeSpan RetryMaximum = TimeSpan.FromMilliseconds(500);

    private readonly OutageLog _outage = new();
    private readonly OutageLog _absence = new();

    /// <summary>Waits until the last outcomes are written, within the host's limit.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        outcomes.Complete();
        if (ExecuteTask is { } writing)
            await Task.WhenAny(writing, Task.Delay(Timeout.InfiniteTimeSpan, clock, cancellationToken));
        await base.StopAsync(cancellationToken);
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        var batch = new List<Settlement>();
        while (await outcomes.TakeAsync(batch, stoppingToken))
        {
            var beganAt = clock.GetTimestamp();
            var absent = await WriteAsync(batch, stoppingToken);
            if (_outage.Succeed())
                Log.RecordsAgain(log);
            // Absent payments of an ended epoch were purged, or lost in a crash of the database. Where a database of
            // several servers only shows them late, the next owner finds them at their processor.
            var left = absent.FindAll(one => one.Owner.HasEnded);
            batch.RemoveAll(absent.Contains);
            Count(batch, clock.GetElapsedTime(beganAt));
            batch.AddRange(left);
            outcomes.Remove(batch);
            foreach (var settlement in batch)
            {
                settlement.Owner.Unsettled.Remove(settlement.Payment);
                settlement.Owner.Leave();
            }

            batch.Clear();
            absent.RemoveAll(left.Contains);
            if (absent.Count > 0)
                detached.Add(AddLaterAsync(absent, stoppingToken));
            if (outcomes.Count == 0)
                _absence.Succeed();
        }
    }

    /// <returns>The outcomes whose payments are not in the ledger but may be there later.</returns>
    private async Task<List<Settlement>> WriteAsync(List<Settlement> batch, CancellationToken stopping)
    {
        batch.Sort(static (one, other) => one.Payment.Id.CompareTo(other.Payment.Id));
        var backoff = new Backoff(RetryInitial);
        while (true)
        {
            try
            {
                var args = ToArgs(batch);
                if (await ledger.RecordAsync(args) == batch.Count)
                    return [];

                // Retention deletes by requestedAt; what it deleted does not come back.
                var keptFrom = (await states.StateAsync()).KeptFrom;
                // An id with another acceptance was deleted and posted again.
                var stored = await payments.FindAsync(args.Ids);
                var absent = batch.FindAll(one => one.RequestedAt >= keptFrom
                    && !stored.Exists(row => row.CorrelationId == one.Payment.Id));
                // A row may have become visible between the two statements.
                await ledger.RecordAsync(args);
                return absent;
            }
            catch (Exception unavailable) when (unavailable is not OperationCanceledException)
            {
                // The batch may be committed. A retry is safe, because the key admits each outcome once.
                var wait = backoff.Next(RetryMaximum);
                var level = _outage.Fail(LogLevel.Warning);
                Log.RecordingFailed(
                    log, level, batch.Count, (long)wait.TotalMilliseconds, unavailable.Message);
                await Task.Delay(wait, clock, stopping);
            }
        }
    }

    // After a purge or a crash of the database the next check ends the epoch. A database of several servers may also
    // show a row late.
    private async Task AddLaterAsync(List<Settlement> absent, CancellationToken stopping)
    {
        await lease.NextCheckAsync(stopping);
        if (absent.FindAll(one => !one.Owner.HasEnded) is { Count: > 0 and var count })
        {
            var level = _absence.Fail(LogLevel.Warning);
            Log.PaymentsAbsent(log, level, count);
            await Task.Delay(RetryInitial, clock, stopping);
        }

        absent.ForEach(outcomes.Add);
    }

    // Includes outcomes that an adopter or an earlier try had written, because the ledger does not say which are new.
    private void Count(List<Settlement> batch, TimeSpan took)
    {
        metrics.RecordBatchSize.Record(batch.Count);
        metrics.RecordDuration.Record(took.TotalSeconds);
        foreach (var settlement in batch)
            settlement.Payment.Trace?.Add("record", clock.GetUtcNow().UtcDateTime - took);
        foreach (var same in batch.GroupBy(one => one.Processor))
        {
            var (payments, cents, savedCents) = (0, 0L, 0m);
            foreach (var settlement in same)
            {
                payments++;
                cents += settlement.AmountCents;
                if (settlement.Payment.PassedOver is { } dearer && dearer.Fee > same.Key.Fee)
                    savedCents += settlement.AmountCents * (dearer.Fee - same.Key.Fee);
            }

            metrics.AddSettled(same.Key, payments, cents, savedCents);
        }
    }

    private RecordArgs ToArgs(List<Settlement> batch)
    {
        var args = new RecordArgs(
            new Guid[batch.Count], new short[batch.Count], new long[batch.Count], new DateTime[batch.Count],
            new DateTime[batch.Count], new short[batch.Count], lease.Current.Number);
        for (var i = 0; i < batch.Count; i++)
        {
            args.Ids[i] = batch[i].Payment.Id;
            args.Processors[i] = batch[i].Processor.Id;
            args.AmountsCents[i] = batch[i].AmountCents;
            args.RequestedAts[i] = batch[i].RequestedAt;
            args.AcceptedAts[i] = batch[i].Payment.AcceptedAt;
            args.Attempts[i] = batch[i].Payment.Attempts ?? -1;
        }

        return args;
    }

    private static partial class Log
    {
        [LoggerMessage(
            EventId = 500, Message = "Failed to write {Count} outcomes, next try in {WaitMs} ms: {Reason}")]
        public static partial void RecordingFailed(
            ILogger log, LogLevel level, int count, long waitMs, string reason);

        [LoggerMessage(501, LogLevel.Information, "Outcomes are written again")]
        public static partial void RecordsAgain(ILogger log);

        [LoggerMessage(EventId = 502, Message = "{Count} outcomes wait because their payments are not in the ledger")]
        public static partial void PaymentsAbsent(ILogger log, LogLevel level, int count);
    }
}

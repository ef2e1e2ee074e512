using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Recording;

/// <summary>Writes outcomes into the ledger in batches, and retries each batch until it is in.</summary>
internal sealed partial class SettlementWriter(
    SettlementLedger ledger, UnwrittenOutcomes outcomes, UnsettledPayments unsettled, Lease lease,
    GatewayMetrics metrics, TimeProvider clock, ILogger<SettlementWriter> log) : BackgroundService
{
    private static readonly TimeSpan RetryInitial = TimeSpan.FromMilliseconds(100);

    // Summaries wait for unwritten outcomes: when the database is back they must not wait out their own limit.
    private static readonly TimeSpan RetryMaximum = TimeSpan.FromMilliseconds(500);

    private readonly OutageLog _outage = new();

    /// <summary>Lets the last outcomes be written, within the host's limit.</summary>
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
            await WriteAsync(batch, stoppingToken);
            if (_outage.Succeed())
                Log.RecordsAgain(log);
            Count(batch, clock.GetElapsedTime(beganAt));
            foreach (var settlement in batch)
                unsettled.Remove(settlement.Payment);
            outcomes.Remove(batch);
            batch.Clear();
        }
    }

    private async Task WriteAsync(List<Settlement> batch, CancellationToken stopping)
    {
        batch.Sort(static (one, other) => one.Payment.Id.CompareTo(other.Payment.Id));
        var backoff = new Backoff(RetryInitial);
        while (true)
        {
            try
            {
                var args = ToArgs(batch);
                if (await ledger.RecordAsync(args) == batch.Count)
                    return;

                // Purged: well. Or a crash of the database emptied the ledger: then the keeper stores the payments
                // again, and the outcomes find them at the second try.
                await lease.NextCheckAsync(stopping);
                await ledger.RecordAsync(args);
                return;
            }
            catch (Exception unavailable) when (unavailable is not OperationCanceledException)
            {
                // Perhaps it was committed all the same; repeating is safe, the key lets each enter once.
                var wait = backoff.Next(RetryMaximum);
                var level = _outage.Fail(LogLevel.Warning);
                Log.RecordingFailed(
                    log, level, batch.Count, (long)wait.TotalMilliseconds, unavailable.Message);
                await Task.Delay(wait, clock, stopping);
            }
        }
    }

    // Counts outcomes that an adopter or a first try of ours had entered before, too: the ledger does not tell which.
    private void Count(List<Settlement> batch, TimeSpan took)
    {
        metrics.RecordBatchSize.Record(batch.Count);
        metrics.RecordDuration.Record(took.TotalSeconds);
        foreach (var settlement in batch)
            settlement.Payment.Trace?.Add("record", clock.GetUtcNow().UtcDateTime - took);
        foreach (var same in batch.Where(one => !one.Payment.Purged).GroupBy(one => one.Processor))
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
            new DateTime[batch.Count], new short[batch.Count], lease.Epoch);
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
            EventId = 500, Message = "{Count} outcomes could not be written, next try in {WaitMs} ms: {Reason}")]
        public static partial void RecordingFailed(
            ILogger log, LogLevel level, int count, long waitMs, string reason);

        [LoggerMessage(501, LogLevel.Information, "Outcomes are written again")]
        public static partial void RecordsAgain(ILogger log);
    }
}

using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Recording;

/// <summary>
/// Writes outcomes into the ledger in batches, again and again until they are in. Any thread may add.
/// </summary>
internal sealed partial class SettlementWriter(
    SettlementLedger ledger, UnwrittenOutcomes outcomes, UnsettledPayments unsettled, Lease lease,
    GatewayMetrics metrics, TimeProvider clock, ILogger<SettlementWriter> log) : BackgroundService
{
    private static readonly TimeSpan RetryInitial = TimeSpan.FromMilliseconds(100);

    // Summaries wait for what is unwritten: when the database is back they must not wait out their own limit.
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

    // What entered is not told apart from what a first try of ours, or an adopter, had entered before.
    private void Count(List<Settlement> batch, TimeSpan took)
    {
        metrics.RecordBatchSize.Record(batch.Count);
        metrics.RecordDuration.Record(took.TotalSeconds);
        var (atDefault, atFallback) = (default(Sum), default(Sum));
        foreach (var settlement in batch)
        {
            settlement.Payment.Trace?.Add("record", clock.GetUtcNow().UtcDateTime - took);
            if (settlement.Payment.Purged)
                continue;

            ref var sum = ref settlement.Processor == Processor.Default ? ref atDefault : ref atFallback;
            sum.Payments++;
            sum.Cents += settlement.AmountCents;
            if (settlement.Processor == Processor.Default && settlement.Payment.WaitedForDefault)
                sum.WaitedCents += settlement.AmountCents;
        }

        metrics.AddSettled(Processor.Default, atDefault.Payments, atDefault.Cents, atDefault.WaitedCents);
        metrics.AddSettled(Processor.Fallback, atFallback.Payments, atFallback.Cents, 0);
    }

    private RecordArgs ToArgs(List<Settlement> batch)
    {
        var args = new RecordArgs(
            new Guid[batch.Count], new short[batch.Count], new long[batch.Count], new DateTime[batch.Count],
            new DateTime[batch.Count], new short[batch.Count], lease.Epoch);
        for (var i = 0; i < batch.Count; i++)
        {
            args.Ids[i] = batch[i].Payment.Id;
            args.Processors[i] = (short)batch[i].Processor;
            args.AmountsCents[i] = batch[i].AmountCents;
            args.RequestedAts[i] = batch[i].RequestedAt;
            args.AcceptedAts[i] = batch[i].Payment.AcceptedAt;
            args.Attempts[i] = batch[i].Payment.Attempts ?? -1;
        }

        return args;
    }

    private struct Sum
    {
        public int Payments;
        public long Cents;
        public long WaitedCents;
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

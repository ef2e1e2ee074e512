using PaymentGateway.Configuring;
using PaymentGateway.Metering;
using PaymentGateway.Storage;

namespace PaymentGateway.Retaining;

/// <summary>
/// Has old settled payments leave the ledger, a page at a time: each page is one short statement, and nine times as
/// long nothing happens before the next. Runs only where a retention is set.
/// </summary>
internal sealed partial class RetentionSweep(
    RetentionStore store, GatewayOptions options, GatewayMetrics metrics, TimeProvider clock,
    ILogger<RetentionSweep> log) : BackgroundService
{
    private const int PageMax = 500;
    private const int PauseFactor = 9;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan PauseLeast = TimeSpan.FromMilliseconds(50);

    private bool _failing;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (options.Retention is { } retention)
        {
            try
            {
                await SweepAsync(retention, stoppingToken);
                _failing = false;
            }
            catch (Exception failed) when (failed is not OperationCanceledException)
            {
                Log.SweepFailed(log, _failing ? LogLevel.Debug : LogLevel.Warning, failed.Message);
                _failing = true;
            }

            await Task.Delay(Interval, clock, stoppingToken);
        }
    }

    private async Task SweepAsync(TimeSpan retention, CancellationToken stoppingToken)
    {
        if (await store.AdvanceAsync(new KeptArgs(clock.GetUtcNow().UtcDateTime, retention)) is { } kept)
            Log.Advanced(log, kept.KeptFrom);
        for (var total = 0; ;)
        {
            var began = clock.GetTimestamp();
            var removed = await store.RemoveAsync(PageMax);
            metrics.Removed.Add(removed);
            total += removed;
            if (removed == 0)
            {
                if (total > 0)
                    Log.Removed(log, total);
                return;
            }

            var pause = clock.GetElapsedTime(began) * PauseFactor;
            await Task.Delay(pause > PauseLeast ? pause : PauseLeast, clock, stoppingToken);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(230, LogLevel.Information, "Settled payments that were requested before {KeptFrom} leave")]
        public static partial void Advanced(ILogger log, DateTime keptFrom);

        [LoggerMessage(231, LogLevel.Information, "{Count} settled payments have left the ledger")]
        public static partial void Removed(ILogger log, int count);

        [LoggerMessage(EventId = 232, Message = "Old payments could not leave the ledger: {Reason}")]
        public static partial void SweepFailed(ILogger log, LogLevel level, string reason);
    }
}

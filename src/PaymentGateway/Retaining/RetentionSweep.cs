using PaymentGateway.Configuring;
using PaymentGateway.Metering;
using PaymentGateway.Storage;

namespace PaymentGateway.Retaining;

/// <summary>
/// Has old settled payments leave the ledger, a page at a time: each page is one short statement, and nine times as
/// long nothing happens before the next. Runs only where a retention is set.
/// </summary>
internal sealed partial class RetentionSweep(
    RetentionStore store, RetentionHours hours, GatewayOptions options, GatewayMetrics metrics, TimeProvider clock,
    ILogger<RetentionSweep> log) : BackgroundService
{
    private const int PageMax = 500;
    private const int PauseFactor = 9;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan PauseLeast = TimeSpan.FromMilliseconds(50);

    // Beside each other: however long a backlog takes to leave, each wall clock is looked at.
    protected override Task ExecuteAsync(CancellationToken stoppingToken) => options.Retention is { } retention
        ? Task.WhenAll(
            RepeatAsync(() => CountAsync(retention), stoppingToken),
            RepeatAsync(() => RemoveAllAsync(stoppingToken), stoppingToken))
        : Task.CompletedTask;

    private async Task RepeatAsync(Func<Task> work, CancellationToken stoppingToken)
    {
        for (var isFailing = false; ;)
        {
            try
            {
                await work();
                isFailing = false;
            }
            catch (Exception failed) when (!stoppingToken.IsCancellationRequested)
            {
                Log.SweepFailed(log, isFailing ? LogLevel.Debug : LogLevel.Warning, failed.Message);
                isFailing = true;
            }

            await Task.Delay(Interval, clock, stoppingToken);
        }
    }

    private async Task CountAsync(TimeSpan retention)
    {
        if (await hours.CountAsync(retention) is { } kept)
            Log.Advanced(log, kept.KeptFrom);
    }

    private async Task RemoveAllAsync(CancellationToken stoppingToken)
    {
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
        [LoggerMessage(230, LogLevel.Information,
            "Settled payments that were requested before {KeptFrom:yyyy-MM-dd'T'HH:mm:ss'Z'} leave")]
        public static partial void Advanced(ILogger log, DateTime keptFrom);

        [LoggerMessage(231, LogLevel.Information, "{Count} settled payments have left the ledger")]
        public static partial void Removed(ILogger log, int count);

        [LoggerMessage(EventId = 232, Message = "Old payments could not leave the ledger: {Reason}")]
        public static partial void SweepFailed(ILogger log, LogLevel level, string reason);
    }
}

using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Retention;

/// <summary>
/// Deletes old settled payments, a page at a time: each page is one short statement, followed by a pause nine times as
/// long. Runs only where a retention is set.
/// </summary>
internal sealed partial class RetentionSweep(
    RetentionStore store, GatewayOptions options, GatewayMetrics metrics, TimeProvider clock,
    ILogger<RetentionSweep> log) : BackgroundService
{
    private const int PageMax = 500;
    private const int PauseFactor = 9;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan PauseMin = TimeSpan.FromMilliseconds(50);

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        if (options.Ledger.Retention is not { } retention)
            return;

        var (total, outage) = (0, new OutageLog());
        while (true)
        {
            var (began, removed) = (clock.GetTimestamp(), 0);
            try
            {
                removed = await store.RemoveAsync(clock.GetUtcNow().UtcDateTime, retention, PageMax);
                metrics.Removed.Add(removed);
                outage.Succeed();
            }
            catch (Exception failed) when (!stoppingToken.IsCancellationRequested)
            {
                var level = outage.Fail(LogLevel.Warning);
                Log.Failed(log, level, failed.Message);
            }

            total += removed;
            if (removed == 0 && total > 0)
            {
                Log.Removed(log, total);
                total = 0;
            }

            var pause = clock.GetElapsedTime(began) * PauseFactor;
            await Task.Delay(removed == 0 ? Interval : pause > PauseMin ? pause : PauseMin, clock, stoppingToken);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(231, LogLevel.Information, "Deleted {Count} settled payments older than the retention")]
        public static partial void Removed(ILogger log, int count);

        [LoggerMessage(EventId = 232, Message = "Failed to delete old payments: {Reason}")]
        public static partial void Failed(ILogger log, LogLevel level, string reason);
    }
}

/// <summary>Registers what the sweep needs.</summary>
internal static class RetentionSetup
{
    public static void AddRetention(this IServiceCollection services) => services.AddSingleton<RetentionStore>();
}

using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>
/// Polls the health of processors and shares the reports. One instance polls a processor for all, because the contract
/// allows one call per 5 s (contract.md).
/// </summary>
internal sealed partial class HealthMonitor(
    HealthStore record, ProcessorLanes lanes, RoutingOptions options, TimeProvider clock, ILogger<HealthMonitor> log)
    : BackgroundService
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    private readonly OutageLog _sharingOutage = new();

    protected override Task ExecuteAsync(CancellationToken stoppingToken)
    {
        var byName = lanes.Enabled.ToDictionary(lane => lane.Processor.Name);
        return new OutageLog().RepeatAsync(
            async () =>
            {
                foreach (var claim in await record.ClaimAsync([.. byName.Keys], options.HealthInterval))
                    _ = PollAsync(byName[claim]);
                foreach (var row in await record.ReadAsync())
                    if (byName.TryGetValue(row.Processor, out var lane))
                        lane.Health.Observe(ToReport(row));
            },
            PollInterval, (level, reason) => Log.RecordUnavailable(log, level, reason), clock, stoppingToken);
    }

    private static HealthReport ToReport(HealthRow row) =>
        new(row.Failing, TimeSpan.FromMilliseconds(row.MinResponseMs), TimeSpan.FromSeconds(row.AgeSeconds));

    // Not awaited by the loop, because a processor delays an early call until its window ends.
    private async Task PollAsync(ProcessorLane lane)
    {
        try
        {
            if (await lane.Client.AskHealthAsync() is not { } report)
                return;

            // At once, because the record is read a second later and a probe could go to a slow processor until then.
            lane.Health.Observe(report);
            await record.PublishAsync(new HealthArgs(
                lane.Processor.Name, report.Failing, (int)report.MinResponse.TotalMilliseconds));
            _sharingOutage.Succeed();
        }
        catch (Exception failed)
        {
            var level = _sharingOutage.Fail(LogLevel.Warning);
            Log.PollFailed(log, level, lane.Processor, failed.Message);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 300, Message = "Failed to read the health reports that instances share: {Reason}")]
        public static partial void RecordUnavailable(ILogger log, LogLevel level, string reason);

        [LoggerMessage(EventId = 301, Message = "Failed to store the health report of {Processor}: {Reason}")]
        public static partial void PollFailed(ILogger log, LogLevel level, Processor processor, string reason);
    }
}

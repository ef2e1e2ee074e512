using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Dashboard;

/// <summary>
/// Writes this instance's reading each second, for the page /ops at any instance. Apart from the renewal, because a
/// failure here must not cost the lease.
/// </summary>
internal sealed partial class ReadingPublisher(
    InstanceReader reader, ReadingStore store, Lease lease, TimeProvider clock, ILogger<ReadingPublisher> log)
    : BackgroundService
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    protected override Task ExecuteAsync(CancellationToken stoppingToken) => new OutageLog().RepeatAsync(
        async () =>
        {
            if (lease.Current.Number is not Owners.Nobody and var epoch)
                await store.WriteAsync(new ReadingArgs(epoch, reader.Read().ToJson()));
        },
        Interval, (level, reason) => Log.Failed(log, level, reason), clock, stoppingToken);

    private static partial class Log
    {
        [LoggerMessage(EventId = 702, Message = "Failed to write this instance's state for the page /ops: {Reason}")]
        public static partial void Failed(ILogger log, LogLevel level, string reason);
    }
}

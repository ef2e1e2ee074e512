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

    private readonly OutageLog _outage = new();

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            try
            {
                if (lease.Current.Number is not Owners.Nobody and var epoch)
                    await store.WriteAsync(new ReadingArgs(epoch, reader.Read().ToJson()));
                _outage.Succeed();
            }
            catch (Exception failed)
            {
                var level = _outage.Fail(LogLevel.Warning);
                Log.Failed(log, level, failed.Message);
            }

            await Task.Delay(Interval, clock, stoppingToken);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 702, Message = "Failed to write this instance's state for the page /ops: {Reason}")]
        public static partial void Failed(ILogger log, LogLevel level, string reason);
    }
}

using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Loads the epoch's payments from the table when the queue has capacity again.</summary>
internal sealed partial class BacklogSweep(
    Lease lease, PaymentStore store, IntakeOptions options, TimeProvider clock, ILogger<BacklogSweep> log)
    : BackgroundService
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);

    private readonly OutageLog _outage = new();

    protected override Task ExecuteAsync(CancellationToken stoppingToken) =>
        lease.RunEachAsync(LoadAllAsync, stoppingToken);

    private async Task LoadAllAsync(Epoch epoch, CancellationToken ends)
    {
        while (true)
        {
            if (!epoch.Backlog.HasOverflow)
                await epoch.Backlog.Added.WaitAsync(Timeout.InfiniteTimeSpan, ends);
            await Task.Delay(PollInterval, clock, ends);
            try
            {
                // Load when the queue is half empty, because small pages cost more per payment.
                while (epoch.Queue.RemainingCapacity * 2 >= options.QueueCapacity
                    && epoch.Backlog.Next() is { } range && !ends.IsCancellationRequested)
                    await LoadAsync(epoch, range);
                _outage.Succeed();
            }
            catch (Exception unavailable) when (unavailable is not OperationCanceledException)
            {
                var level = _outage.Fail(LogLevel.Warning);
                Log.SweepFailed(log, level, unavailable.Message);
            }
        }
    }

    private async Task LoadAsync(Epoch epoch, StoredRange range)
    {
        var limit = Math.Min(options.BacklogPage, epoch.Queue.RemainingCapacity);
        var page = (await store.UnsettledPageAsync(
            new UnsettledPageArgs(epoch.Number, range.From, range.To, limit))).ConvertAll(row => row.ToPayment());
        page.ForEach(epoch.Unsettled.Add);
        epoch.Queue.AddAll(page);
        epoch.Backlog.Advance(page.Count < limit ? range.To : page[^1].AcceptedAt);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 201, Message = "Failed to read the stored backlog: {Reason}")]
        public static partial void SweepFailed(ILogger log, LogLevel level, string reason);
    }
}

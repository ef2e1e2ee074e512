using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Leasing;

/// <summary>Loads this instance's payments from the table when the queue has capacity again.</summary>
internal sealed partial class BacklogSweep(
    StoredBacklog backlog, PaymentStore store, PaymentQueue queue, UnsettledPayments unsettled, Lease lease,
    IntakeOptions options, TimeProvider clock, ILogger<BacklogSweep> log) : BackgroundService
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);

    private readonly OutageLog _outage = new();

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            if (!backlog.HasOverflow)
                await backlog.Added.WaitAsync(Timeout.InfiniteTimeSpan, stoppingToken);
            await Task.Delay(PollInterval, clock, stoppingToken);
            try
            {
                // Load when the queue is half empty, because small pages cost more per payment.
                while (lease.Epoch is not PaymentStates.Nobody and var epoch
                    && queue.RemainingCapacity * 2 >= options.QueueCapacity
                    && backlog.Next() is { } range)
                    await LoadAsync(range, epoch);
                _outage.Succeed();
            }
            catch (Exception unavailable) when (unavailable is not OperationCanceledException)
            {
                var level = _outage.Fail(LogLevel.Warning);
                Log.SweepFailed(log, level, unavailable.Message);
            }
        }
    }

    private async Task LoadAsync(StoredRange range, int epoch)
    {
        var limit = Math.Min(options.BacklogPage, queue.RemainingCapacity);
        var generation = unsettled.Generation;
        var page = (await store.UnsettledPageAsync(new UnsettledPageArgs(epoch, range.From, range.To, limit)))
            .ConvertAll(row => row.ToPayment());
        // After a purge the page is read again.
        if (epoch != lease.Epoch || !unsettled.TryAdd(page, generation))
            return;

        queue.AddAll(page);
        backlog.Advance(range, page.Count < limit ? range.To : page[^1].AcceptedAt);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 201, Message = "Failed to read the stored backlog: {Reason}")]
        public static partial void SweepFailed(ILogger log, LogLevel level, string reason);
    }
}

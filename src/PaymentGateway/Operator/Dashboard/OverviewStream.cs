using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Dashboard;

/// <summary>Makes one view a second for all watchers of this instance, and none without watchers. Any thread.</summary>
internal sealed partial class OverviewStream(
    InstanceReader reader, SharedFactsReader facts, Lease lease, LedgerWatch ledger, OverviewBuilder builder,
    TimeProvider clock, ILogger<OverviewStream> log) : IDisposable
{
    private readonly object _gate = new();
    private readonly PeriodicTimer _timer = new(TimeSpan.FromSeconds(1), clock);
    private readonly OutageLog _outage = new();
    private Task<byte[]?> _next = Task.FromResult<byte[]?>(null);

    /// <summary>The next view, as JSON, shared by all who wait for it; null when it cannot be made.</summary>
    public Task<byte[]?> NextAsync()
    {
        lock (_gate)
            return _next.IsCompleted ? _next = MakeAsync() : _next;
    }

    public void Dispose() => _timer.Dispose();

    private async Task<byte[]?> MakeAsync()
    {
        if (!await _timer.WaitForNextTickAsync())
            throw new OperationCanceledException("The instance stops.");

        try
        {
            var shared = await facts.ReadAsync();
            var view = builder.Make(
                clock.GetUtcNow().UtcDateTime, lease.Current.Number, reader.Read(), ledger.ResetAt is not null, shared);
            var json = JsonSerializer.SerializeToUtf8Bytes(view, DashboardJsonContext.Default.Overview);
            // Without the database's rows, the part that failed before was perhaps not made.
            if (shared is not null)
                _outage.Succeed();
            return json;
        }
        catch (Exception failed)
        {
            // A failure of the page must stop no payment.
            var level = _outage.Fail(LogLevel.Error);
            Log.Failed(log, level, failed);
            return null;
        }
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 700, Message = "Failed to make a view of the page /ops")]
        public static partial void Failed(ILogger log, LogLevel level, Exception failed);
    }
}

/// <summary>Reads the shared rows from the database, for one caller at a time.</summary>
internal sealed class SharedFactsReader(
    ReadingStore readings, SummaryStore ledger, HealthStore health, ParkedStore parked, WebhookStore webhooks,
    TimeProvider clock)
{
    // Most of a second; the view is then made without the database's rows.
    private static readonly TimeSpan AskWithin = TimeSpan.FromMilliseconds(700);

    private Task<SharedFacts> _asking = Task.FromResult(new SharedFacts([], [], [], [], []));

    /// <returns>Null when the database did not answer in time; no query follows before it has.</returns>
    public async Task<SharedFacts?> ReadAsync()
    {
        if (!_asking.IsCompleted)
            return null;

        _asking = AskAsync();
        await Task.WhenAny(_asking, Task.Delay(AskWithin, clock));
        // A failure is not logged here, because the page shows it and the stages that need the database log it.
        return _asking.IsCompletedSuccessfully ? await _asking : null;
    }

    private async Task<SharedFacts> AskAsync() => new(
        await readings.ReadAsync(), await ledger.SumAsync(null, null), await health.ReadAsync(),
        await parked.CountAsync(ParkedCount.CountMax), await webhooks.ListAsync());
}

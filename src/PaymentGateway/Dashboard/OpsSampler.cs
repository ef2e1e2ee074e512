using System.Text.Json;
using PaymentGateway.Leasing;
using PaymentGateway.Settling;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Dashboard;

/// <summary>Makes one view of all instances a second for everybody who watches this one.</summary>
internal sealed partial class OpsSampler(
    LiveEvents events, InstanceReader reader, SharedFactsReader facts, Lease lease, IGatewayState state,
    OverviewBuilder making, TimeProvider clock, ILogger<OpsSampler> log)
    : BackgroundService
{
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        using var timer = new PeriodicTimer(Period, clock);
        var outage = new OutageLog();
        while (await timer.WaitForNextTickAsync(stoppingToken))
        {
            try
            {
                if (events.AreWatched && await PublishAsync(stoppingToken))
                    outage.Succeed();
            }
            catch (Exception failed) when (!stoppingToken.IsCancellationRequested)
            {
                // A page that cannot be shown stops no payment.
                var level = outage.Fail(LogLevel.Error);
                Log.Failed(log, level, failed);
            }
        }
    }

    /// <returns>A whole view was made: one without what the database knows may lack just what failed.</returns>
    private async Task<bool> PublishAsync(CancellationToken stopping)
    {
        var shared = await facts.ReadAsync(stopping);
        var view = making.Make(
            clock.GetUtcNow().UtcDateTime, lease.Epoch, reader.Read(), state.IsLedgerReset, shared);
        events.Publish(JsonSerializer.SerializeToUtf8Bytes(view, DashboardJsonContext.Default.Overview));
        return shared is not null;
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 700, Message = "The page /ops cannot be shown")]
        public static partial void Failed(ILogger log, LogLevel level, Exception failed);
    }
}

/// <summary>Asks the database what it knows of all instances. For one loop.</summary>
internal sealed class SharedFactsReader(
    LeaseStore leases, SettlementLedger ledger, HealthStore health, ParkedStore parked, TimeProvider clock)
{
    // Most of a second; the view then lacks what the database knows.
    private static readonly TimeSpan AskWithin = TimeSpan.FromMilliseconds(700);

    private Task<SharedFacts> _asking = Task.FromResult(new SharedFacts([], [], [], []));

    /// <returns>Null when the database did not answer in time; nothing more is asked before it has.</returns>
    public async Task<SharedFacts?> ReadAsync(CancellationToken cancellation)
    {
        if (!_asking.IsCompleted)
            return null;

        _asking = AskAsync();
        await Task.WhenAny(_asking, Task.Delay(AskWithin, clock, cancellation));
        cancellation.ThrowIfCancellationRequested();
        // Whatever failed it: the page says so, and whoever needs the database logs it.
        return _asking.IsCompletedSuccessfully ? await _asking : null;
    }

    private async Task<SharedFacts> AskAsync() => new(
        await leases.ReadingsAsync(), await ledger.SumAsync(null, null), await health.ReadAsync(),
        await parked.CountAsync(ParkedCount.CountMax));
}

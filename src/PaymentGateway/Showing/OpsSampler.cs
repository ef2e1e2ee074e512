using System.Text.Json;
using PaymentGateway.Leasing;
using PaymentGateway.Metering;
using PaymentGateway.Settling;
using PaymentGateway.Storage;

namespace PaymentGateway.Showing;

/// <summary>
/// Once a second, while somebody watches any instance, tells the others how this one is doing. While somebody watches
/// this one, it also makes the view of all; one for everybody who watches. Else it waits and does nothing.
/// </summary>
internal sealed partial class OpsSampler(
    Audience audience, InstanceReader reader, ReadingStore readings, SettlementLedger ledger, HealthStore health,
    ParkedStore parked, IGatewayState state, Lease lease, LiveEvents events, OverviewMaking making, TimeProvider clock,
    ILogger<OpsSampler> log)
    : BackgroundService
{
    // All tell when a second begins, so a moment later everything is there, and is not a second old.
    private static readonly TimeSpan OthersTell = TimeSpan.FromMilliseconds(150);

    // The rest of the second; the view then lacks what the database knows.
    private static readonly TimeSpan AskWithin = TimeSpan.FromMilliseconds(700);

    // The others hear of it by their renewals.
    private static readonly TimeSpan WatchFor = TimeSpan.FromSeconds(6);
    private static readonly TimeSpan ReadingKept = TimeSpan.FromMinutes(1);

    private readonly ReadingTimes _times = new(clock);
    private Task<SharedFacts?> _asking = Task.FromResult<SharedFacts?>(null);
    private long _sweptAt = clock.GetTimestamp();
    private bool _fails;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            await audience.Came.WaitAsync(Timeout.InfiniteTimeSpan, stoppingToken);
            try
            {
                await FollowAsync(stoppingToken);
            }
            catch (Exception failed) when (!stoppingToken.IsCancellationRequested)
            {
                // A page that cannot be shown stops no payment.
                if (!_fails)
                    Log.Failed(log, failed);
                _fails = true;
                await Task.Delay(ReadingTimes.Period, clock, stoppingToken);
                audience.Came.Set(); // Who watches still does.
            }
        }
    }

    private async Task FollowAsync(CancellationToken stopping)
    {
        reader.Begin();
        _times.Begin();
        while (audience.IsThere)
        {
            await _times.NextAsync(stopping);
            if (await SampleAsync(stopping))
                _fails = false;
        }
    }

    /// <returns>A whole view was made: one without what the database knows may lack just what failed.</returns>
    private async Task<bool> SampleAsync(CancellationToken stopping)
    {
        var own = reader.Read();
        var shared = await AskAsync(own, stopping);
        if (audience.Here == 0)
            return false;

        var view = making.Make(clock.GetUtcNow().UtcDateTime, lease.Epoch, own, state.IsLedgerReset, shared);
        events.Publish(JsonSerializer.SerializeToUtf8Bytes(view, ShowingJsonContext.Default.Overview));
        return shared is not null;
    }

    /// <returns>Null when the database did not answer in time; nothing more is asked before it has.</returns>
    private async Task<SharedFacts?> AskAsync(InstanceReading own, CancellationToken stopping)
    {
        if (!_asking.IsCompleted)
            return null;

        _asking = TellAndReadAsync(own);
        await Task.WhenAny(_asking, Task.Delay(AskWithin, clock, stopping));
        stopping.ThrowIfCancellationRequested();
        // Whatever failed it: the page says so, and whoever needs the database logs it.
        return _asking.IsCompletedSuccessfully ? await _asking : null;
    }

    private async Task<SharedFacts?> TellAndReadAsync(InstanceReading own)
    {
        var epoch = lease.Epoch;
        if (epoch != PaymentStates.Nobody)
            await readings.TellAsync(new ReadingArgs(
                epoch, making.Options.InstanceName,
                JsonSerializer.Serialize(own, ShowingJsonContext.Default.InstanceReading)));
        if (audience.Here == 0)
            return null;

        await readings.WatchAsync(WatchFor);
        await SweepAsync();
        await Task.Delay(OthersTell, clock);
        return new SharedFacts(
            await readings.ReadAsync(), await ledger.SumAsync(null, null), await health.ReadAsync(),
            await parked.CountAsync(ParkedCount.CountMax));
    }

    private async Task SweepAsync()
    {
        if (clock.GetElapsedTime(_sweptAt) < ReadingKept)
            return;

        await readings.SweepAsync(ReadingKept);
        _sweptAt = clock.GetTimestamp();
    }

    private static partial class Log
    {
        [LoggerMessage(700, LogLevel.Error, "The page /ops cannot be shown")]
        public static partial void Failed(ILogger log, Exception failed);
    }
}

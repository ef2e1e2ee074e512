using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>
/// Writes which payments are in doubt, so that each instance can show them, and which ones a processor holds, so that
/// every later owner knows it. A doubt may be shown late, because no decision reads it; a settlement or a
/// sweep corrects it. An instance that is killed may lose a 422 of the last quarter of a second: a later owner then
/// repeats the charge and gets 422 again, or looks the payment up where several processors may have it.
/// </summary>
internal sealed partial class DoubtPublisher(
    DoubtNotes doubts, DoubtStore store, TimeProvider clock, ILogger<DoubtPublisher> log) : BackgroundService
{
    private const int PageMax = 1_000;

    // Most doubts end sooner, and need no row.
    private static readonly TimeSpan Linger = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan SweepInterval = TimeSpan.FromSeconds(30);

    private readonly List<Payment> _held = [];
    private long _sweptAt = clock.GetTimestamp();
    private readonly OutageLog _outage = new();

    /// <summary>Stores the last 422, because nothing tells a later owner of them otherwise.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        await base.StopAsync(cancellationToken);
        await Task.WhenAny(TryHoldAsync(), Task.Delay(Timeout.InfiniteTimeSpan, clock, cancellationToken));
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            await doubts.Changed.WaitAsync(SweepInterval, stoppingToken);
            await Task.Delay(Linger, clock, stoppingToken);
            for (var changes = doubts.TakeChanges(); !(await TryHoldAsync() & await TryPublishAsync(changes));)
                await Task.Delay(RetryAfter, clock, stoppingToken);
        }
    }

    // Apart from what is for display, and whoever owns them by now, because an adopter could charge another processor
    // otherwise.
    private Task<bool> TryHoldAsync() => TryAsync(async () =>
    {
        _held.AddRange(doubts.TakeHeld());
        foreach (var page in _held.Chunk(PageMax))
            await store.HoldAsync(HoldArgs.Of(page));
        _held.Clear();
    });

    private Task<bool> TryPublishAsync(Dictionary<Payment, bool> changes) => TryAsync(async () =>
    {
        foreach (var page in Pages(changes, begun: true))
            await store.MarkAsync(page);
        foreach (var page in Pages(changes, begun: false))
            await store.ClearAsync(page);
        if (clock.GetElapsedTime(_sweptAt) >= SweepInterval)
        {
            await store.SweepAsync();
            _sweptAt = clock.GetTimestamp();
        }

        _outage.Succeed();
    });

    private async Task<bool> TryAsync(Func<Task> workAsync)
    {
        try
        {
            await workAsync();
            return true;
        }
        catch (Exception failed)
        {
            var level = _outage.Fail(LogLevel.Warning);
            Log.PublishingFailed(log, level, failed.Message);
            return false;
        }
    }

    private static IEnumerable<DoubtArgs> Pages(Dictionary<Payment, bool> changes, bool begun) => changes
        .Where(change => change.Value == begun).Select(change => change.Key).Chunk(PageMax)
        .Select(page => new DoubtArgs(
            Array.ConvertAll(page, payment => payment.AcceptedAt), Array.ConvertAll(page, payment => payment.Id)));

    private static partial class Log
    {
        [LoggerMessage(EventId = 415, Message = "Failed to store which payments are in doubt: {Reason}")]
        public static partial void PublishingFailed(ILogger log, LogLevel level, string reason);
    }
}

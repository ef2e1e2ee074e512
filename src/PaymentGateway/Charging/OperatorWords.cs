using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>
/// Reads each second, while payments are in doubt, whether an operator has said that a processor has not charged them.
/// </summary>
/// <remarks>
/// The word is for payments that were in doubt before it, so a later one needs another word. No clock dates it, but it
/// came after the reading before the one that found it: so it counts for payments that were in doubt before that
/// earlier reading. A word from before the first reading is not counted, because this instance does not know which of
/// its payments were in doubt then.
/// </remarks>
internal sealed partial class OperatorWords(
    OperatorWordStore store, Lease lease, DoubtNotes notes, TimeProvider clock, ILogger<OperatorWords> log)
    : BackgroundService
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private (long At, Dictionary<short, int> Counts)? _before;

    protected override Task ExecuteAsync(CancellationToken stoppingToken) => new OutageLog().RepeatAsync(
        // A former epoch's payments in doubt belong to the next epoch as soon as it has taken them over.
        async () => _before = lease.Current.Doubts.Count > 0 || lease.Former.Count > 0 ? await ReadAsync() : null,
        Interval, (level, reason) => Log.NotRead(log, level, reason), clock, stoppingToken);

    private async Task<(long At, Dictionary<short, int> Counts)> ReadAsync()
    {
        var askedAt = clock.GetTimestamp();
        var counts = (await store.WordsAsync()).ToDictionary(row => row.Id, row => row.Count);
        if (_before is { } before)
            foreach (var (processor, count) in counts)
                if (before.Counts.TryGetValue(processor, out var known) && count > known)
                    notes.EndAt(processor, before.At);
        return (askedAt, counts);
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 416, Message = "Failed to read the not-charged words of operators: {Reason}")]
        public static partial void NotRead(ILogger log, LogLevel level, string reason);
    }
}

namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// The official audit while everything breaks: windows from 15 s to 1.5 s before now, asked of the ledger, the gateway
/// and the processors at once. A payment that is missing has a reason that was done to it, and is counted apart, or
/// the ledger is behind.
/// </summary>
public sealed class ChaosLiveAudits(GatewaySystem system, ChaosDatabase database, Func<IReadOnlyList<ChaosDone>> done)
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan Reach = TimeSpan.FromSeconds(15);
    private static readonly TimeSpan Allowed = TimeSpan.FromSeconds(1.5);

    // A payment is here once for each audit that missed it.
    private readonly List<ChaosLate> _sightings = [];
    private readonly List<string> _problems = [];
    private readonly Queue<TimeSpan> _stalls = new();

    public int Taken { get; private set; }

    public int Alike { get; private set; }

    /// <summary>Every payment that was late, by its reason; known when the run is closed.</summary>
    public ILookup<ChaosReason, ChaosLate> Late { get; private set; } =
        Array.Empty<ChaosLate>().ToLookup(_ => ChaosReason.None);

    public IEnumerable<string> Problems => Taken > 0 ? _problems : _problems.Append("no live audit could be taken");

    public async Task RunWhileAsync(Task end)
    {
        while (!end.IsCompleted)
        {
            await Task.WhenAny(end, Task.Delay(Interval));
            // While the database is being broken nobody can say what the ledger holds.
            await ChaosDatabase.TryAsync(TakeAsync);
        }
    }

    /// <summary>When the run is over and all that was done is known: why each payment was late.</summary>
    public void Close()
    {
        var everything = done();
        Late = _sightings.Select(late => (Late: late, Reason: ChaosReasons.Of(late, everything)))
            .GroupBy(one => one.Late.Id, (_, sightings) => sightings.MinBy(one => one.Reason))
            .ToLookup(one => one.Reason, one => one.Late);
        _problems.AddRange(Late[ChaosReason.None].Select(late => $"the ledger is behind for no reason: {late}"));
    }

    private async Task<bool> TakeAsync()
    {
        var began = Stopwatch.StartNew();
        var now = DateTimeOffset.UtcNow;
        now = now.AddTicks(-(now.Ticks % TimeSpan.TicksPerMillisecond));
        // A machine that is slow with the audit itself is as slow with what the audit is about.
        var stall = Stall();
        var (from, to) = (now - Reach, now - Allowed - stall);
        var ledger = await database.LedgerAsync(from, to);
        var asking = ChaosAudits.AskAsync(system.Client, from, to);
        var missing = (await Task.WhenAll(system.Processors.Select(
            async one => Missing(await one.Value.PaymentsAsync(from, to), one.Key)))).SelectMany(late => late).ToList();
        Taken++;
        if (await asking is { } summary && summary.TotalRequests < ledger.Count)
            _problems.Add($"audit {from:O} to {to:O}: the summary says {summary}, but its ledger had "
                + $"{ledger.Count} before");
        if (missing.Count == 0)
            Alike++;
        else
            await NoteAsync(missing);
        _stalls.Enqueue(2 * began.Elapsed);
        if (_stalls.Count > Reach / Interval)
            _stalls.Dequeue();
        return true;

        IEnumerable<ChaosLate> Missing(IReadOnlyDictionary<Guid, ProcessorPayment> stored, string processor) =>
            stored.Values.Where(payment => !ledger.Contains(payment.CorrelationId)).Select(payment => new ChaosLate(
                payment.CorrelationId, processor, payment.RequestedAt.UtcDateTime, now.UtcDateTime, stall, null));
    }

    // Whole milliseconds: bounds between two microseconds are cut here and there in another way.
    private TimeSpan Stall() => TimeSpan.FromMilliseconds(
        Math.Ceiling(_stalls.Append(TimeSpan.Zero).Max().TotalMilliseconds));

    private async Task NoteAsync(List<ChaosLate> missing)
    {
        var owners = await database.OwnersAsync(missing.Select(one => one.Id));
        _sightings.AddRange(missing.Select(one => one with { Owner = owners.GetValueOrDefault(one.Id) }));
    }
}

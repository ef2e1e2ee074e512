using System.Data.Common;

namespace PaymentGateway.Tests.Chaos;

/// <summary>A payment that a processor has had for longer than the audit's 1.5 s and the ledger has not.</summary>
/// <param name="Processor">Where it is stored.</param>
/// <param name="Owner">Whose it is; null when that is not known any more.</param>
public sealed record ChaosLate(Guid Id, string Processor, DateTime RequestedAt, DateTime SeenAt, ChaosOwner? Owner);

/// <summary>
/// The official audit while everything breaks: windows from 15 s to 1.5 s before now, asked of the ledger, the gateway
/// and both processors at once. A payment that is missing has a reason that was done to it, and is counted apart, or
/// the ledger is behind.
/// </summary>
public sealed class ChaosLiveAudits(GatewaySystem system, ChaosDatabase database, Func<IReadOnlyList<ChaosDone>> done)
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan Reach = TimeSpan.FromSeconds(15);
    private static readonly TimeSpan Allowed = TimeSpan.FromSeconds(1.5);

    private readonly Dictionary<Guid, ChaosLate> _late = [];
    private readonly List<string> _problems = [];
    private readonly Queue<TimeSpan> _stalls = new();

    public int Taken { get; private set; }

    public int Alike { get; private set; }

    /// <summary>Payments that were late for what was done to their processor.</summary>
    public int ByProcessor { get; private set; }

    /// <summary>Payments that were late for what was done to their owner, or to its database.</summary>
    public int ByParts { get; private set; }

    public IEnumerable<string> Problems => Taken > 0 ? _problems : _problems.Append("no live audit could be taken");

    public async Task RunWhileAsync(Task end)
    {
        while (!end.IsCompleted)
        {
            await Task.WhenAny(end, Task.Delay(Interval));
            try
            {
                await TakeAsync();
            }
            catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
            {
                // The database is being broken, so nobody can say what the ledger holds.
            }
        }
    }

    /// <summary>When the run is over and all that was done is known: why each payment was late.</summary>
    public void Close()
    {
        var everything = done();
        foreach (var one in _late.Values)
            switch (ChaosReasons.Of(one, everything))
            {
                case ChaosReason.Processor:
                    ByProcessor++;
                    break;
                case ChaosReason.Parts:
                    ByParts++;
                    break;
                default:
                    _problems.Add($"the ledger is behind for no reason: {one}");
                    break;
            }
    }

    private async Task TakeAsync()
    {
        var began = Stopwatch.StartNew();
        var now = DateTimeOffset.UtcNow;
        now = now.AddTicks(-(now.Ticks % TimeSpan.TicksPerMillisecond));
        // A machine that is slow with the audit itself is as slow with what the audit is about.
        var (from, to) = (now - Reach, now - Allowed - Stall());
        var ledger = await database.LedgerAsync(from, to);
        var asking = AskAsync(from, to);
        var byDefault = system.Default.PaymentsAsync(from, to);
        var byFallback = system.Fallback.PaymentsAsync(from, to);
        List<ChaosLate> missing =
        [
            .. Missing(await byDefault, ChaosStep.Default), .. Missing(await byFallback, ChaosStep.Fallback),
        ];
        Taken++;
        if (await asking is { } summed && summed < ledger.Count)
            _problems.Add($"audit {from:O} to {to:O}: the summary says {summed}, its ledger had {ledger.Count} before");
        if (missing.Count == 0)
            Alike++;
        else
            await NoteAsync(missing);
        _stalls.Enqueue(2 * began.Elapsed);
        if (_stalls.Count > Reach / Interval)
            _stalls.Dequeue();

        IEnumerable<ChaosLate> Missing(IReadOnlyDictionary<Guid, ProcessorPayment> stored, string processor) =>
            stored.Values.Where(payment => !ledger.ContainsKey(payment.CorrelationId)).Select(payment => new ChaosLate(
                payment.CorrelationId, processor, payment.RequestedAt.UtcDateTime, now.UtcDateTime, null));
    }

    // Whole milliseconds: bounds between two microseconds are cut here and there in another way.
    private TimeSpan Stall() => TimeSpan.FromMilliseconds(
        Math.Ceiling(_stalls.Append(TimeSpan.Zero).Max().TotalMilliseconds));

    private async Task NoteAsync(List<ChaosLate> missing)
    {
        var owners = await database.OwnersAsync(missing.Select(one => one.Id));
        foreach (var one in missing)
            _late.TryAdd(one.Id, one with { Owner = owners.GetValueOrDefault(one.Id) });
    }

    private async Task<long?> AskAsync(DateTimeOffset from, DateTimeOffset to) =>
        await ChaosAudit.AskAsync(system.Client, from, to) is { } summary
            ? summary.Default.TotalRequests + summary.Fallback.TotalRequests
            : null;
}

using PaymentGateway.Tools.Paying;

namespace PaymentGateway.Tools.Comparing;

/// <summary>
/// Compares every single payment: what clients were told, what the gateway's ledger holds, and what both processors
/// have stored.
/// </summary>
public sealed class LedgerComparison(
    LoadLedger sent,
    IReadOnlyDictionary<Guid, LedgerEntry> ledger,
    IEnumerable<ProcessorPayment> byDefault,
    IEnumerable<ProcessorPayment> byFallback)
{
    private static readonly ILookup<Guid, ProcessorPayment> None =
        Array.Empty<ProcessorPayment>().ToLookup(stored => stored.CorrelationId);

    // Not by id alone: a simulator that was started anew may have charged what the one before it had charged.
    private readonly ILookup<Guid, ProcessorPayment> _byDefault = byDefault.ToLookup(stored => stored.CorrelationId);
    private readonly ILookup<Guid, ProcessorPayment> _byFallback = byFallback.ToLookup(stored => stored.CorrelationId);

    /// <summary>All differences, none when the ledgers agree.</summary>
    public IReadOnlyList<Difference> Differences() => Those(
        Unsettled(), NotAsSent(), NotAtTheirProcessor(), NotInTheLedger(), ChargedByBoth(), ChargedAgain());

    /// <summary>The same of a ledger that was lost on the way: what it holds must be true all the same.</summary>
    public IReadOnlyList<Difference> DifferencesAfterLoss() =>
        Those(NotAtTheirProcessor(), ChargedByBoth(), ChargedAgain());

    private static List<Difference> Those(params Difference[] all) =>
        all.Where(difference => difference.Found.Count > 0).ToList();

    private Difference Unsettled() => new("acknowledged, and not in the ledger", sent.Entries
        .Where(entry => entry.Outcome == LoadOutcome.Acknowledged && !ledger.ContainsKey(entry.Id))
        .Select(entry => $"{entry}, {Stored(entry.Id)}").ToList());

    private Difference NotAsSent() => new("in the ledger, and not as it was sent", ledger
        .Where(row => !WasSent(sent.Find(row.Key), row.Value))
        .Select(row => $"{row.Key} {row.Value}, sent {sent.Find(row.Key)}").ToList());

    private Difference NotAtTheirProcessor() => new("in the ledger, and not so at their processor", ledger
        .Where(row => !(row.Value.Processor switch { 1 => _byDefault, 2 => _byFallback, _ => None })[row.Key]
            .Any(stored => IsSame(row.Value, stored)))
        .Select(row => $"{row.Key} {row.Value}, {Stored(row.Key)}").ToList());

    private Difference NotInTheLedger() => new("charged, and not in the ledger", _byDefault.Concat(_byFallback)
        .SelectMany(stored => stored)
        .Where(stored => !ledger.ContainsKey(stored.CorrelationId))
        .Select(stored => $"{stored}, sent {sent.Find(stored.CorrelationId)}").ToList());

    private Difference ChargedByBoth() => new("charged by both processors", _byDefault
        .Where(stored => _byFallback.Contains(stored.Key))
        .Select(stored => $"{stored.Key}, {Stored(stored.Key)}").ToList());

    private Difference ChargedAgain() => new("charged twice by one processor", _byDefault.Concat(_byFallback)
        .Where(stored => stored.Count() > 1)
        .Select(stored => $"{stored.Key}, {Stored(stored.Key)}").ToList());

    private string Stored(Guid id) =>
        $"at default {string.Join(" and ", _byDefault[id])}, at fallback {string.Join(" and ", _byFallback[id])}";

    private static bool WasSent(LoadEntry? sent, LedgerEntry row) =>
        sent is not null && sent.Outcome != LoadOutcome.Refused && sent.Amount == row.Amount;

    private static bool IsSame(LedgerEntry row, ProcessorPayment stored) =>
        stored.Amount == row.Amount && stored.RequestedAt.UtcDateTime == row.RequestedAt;
}

/// <summary>One way in which the ledger and what happened differ, with every payment that does.</summary>
/// <param name="What">Such as «charged by both processors».</param>
/// <param name="Found">A line for each payment.</param>
public sealed record Difference(string What, IReadOnlyList<string> Found)
{
    private const int ShownMax = 10;

    /// <summary>How many, in one line.</summary>
    public string Count => $"{Found.Count} {What}";

    /// <summary>The first of them, too.</summary>
    public override string ToString() => $"{Count}:\n  {string.Join("\n  ", Found.Take(ShownMax))}";
}

/// <summary>A settlement as the gateway's ledger holds it.</summary>
public sealed record LedgerEntry(short Processor, decimal Amount, DateTime RequestedAt);

/// <summary>A payment as a processor has stored it.</summary>
public sealed record ProcessorPayment(Guid CorrelationId, decimal Amount, DateTimeOffset RequestedAt);

namespace PaymentGateway.Tests.Support;

/// <summary>
/// Compares every single payment: what clients were told, what the gateway's ledger holds, and what the processors have
/// stored.
/// </summary>
/// <param name="stores">A processor may have several: a simulator that is started anew forgets.</param>
public sealed class LedgerComparison(
    LoadLedger sent, IReadOnlyDictionary<Guid, LedgerEntry> ledger, IEnumerable<ProcessorStore> stores)
{
    private readonly ILookup<Guid, ProcessorCharge> _stored = ProcessorStore.ById(stores);

    /// <summary>All differences, none when the ledgers agree.</summary>
    public IReadOnlyList<Difference> Differences() => Those(
        Unsettled(), NotAsSent(), NotAtTheirProcessor(), NotInTheLedger(), ChargedBySeveral(), ChargedAgain());

    /// <summary>The same of a ledger that was lost on the way: what it holds must be true all the same.</summary>
    public IReadOnlyList<Difference> DifferencesAfterLoss() =>
        Those(NotAtTheirProcessor(), ChargedBySeveral(), ChargedAgain());

    private static List<Difference> Those(params Difference[] all) =>
        all.Where(difference => difference.Found.Count > 0).ToList();

    private Difference Unsettled() => new("acknowledged, and not in the ledger", sent.Entries
        .Where(entry => entry.Outcome == LoadOutcome.Acknowledged && !ledger.ContainsKey(entry.Id))
        .Select(entry => $"{entry}, {Charges(entry.Id)}").ToList());

    private Difference NotAsSent() => new("in the ledger, and not as it was sent", ledger
        .Where(row => !WasSent(sent.Find(row.Key), row.Value))
        .Select(row => $"{row.Key} {row.Value}, sent {sent.Find(row.Key)}").ToList());

    private Difference NotAtTheirProcessor() => new("in the ledger, and not so at their processor", ledger
        .Where(row => !_stored[row.Key].Any(stored => stored.IsOf(row.Value)))
        .Select(row => $"{row.Key} {row.Value}, {Charges(row.Key)}").ToList());

    private Difference NotInTheLedger() => new("charged, and not in the ledger", _stored
        .Where(charges => !ledger.ContainsKey(charges.Key)).SelectMany(charges => charges)
        .Select(stored => $"{stored}, sent {sent.Find(stored.Payment.CorrelationId)}").ToList());

    private Difference ChargedBySeveral() => Charged(
        "by several processors", charges => charges.DistinctBy(stored => stored.Processor).Count() > 1);

    private Difference ChargedAgain() => Charged(
        "twice by one processor", charges => charges.DistinctBy(stored => stored.Processor).Count() < charges.Count());

    private Difference Charged(string how, Func<IGrouping<Guid, ProcessorCharge>, bool> isSo) => new(
        $"charged {how}",
        _stored.Where(isSo).Select(charges => $"{charges.Key}, {Charges(charges.Key)}").ToList());

    private string Charges(Guid id) => $"charged {string.Join(" and ", _stored[id])}";

    private static bool WasSent(LoadEntry? sent, LedgerEntry row) =>
        sent is not null && sent.Outcome != LoadOutcome.Refused && sent.Amount == row.Amount;
}

/// <summary>One way in which the ledger and what happened differ, with every payment that does.</summary>
/// <param name="What">Such as «charged by several processors».</param>
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
public sealed record LedgerEntry(string Processor, decimal Amount, DateTime RequestedAt);

/// <summary>A payment as a processor has stored it.</summary>
public sealed record ProcessorPayment(Guid CorrelationId, decimal Amount, DateTimeOffset RequestedAt);

/// <summary>The payments that a processor has stored.</summary>
public sealed record ProcessorStore(string Processor, IEnumerable<ProcessorPayment> Payments)
{
    public static ILookup<Guid, ProcessorCharge> ById(IEnumerable<ProcessorStore> stores) => stores
        .SelectMany(store => store.Payments, (store, payment) => new ProcessorCharge(store.Processor, payment))
        .ToLookup(stored => stored.Payment.CorrelationId);
}

/// <summary>A charge, and where.</summary>
public sealed record ProcessorCharge(string Processor, ProcessorPayment Payment)
{
    /// <summary>Whether it is what the ledger's settlement says.</summary>
    public bool IsOf(LedgerEntry row) => row == new LedgerEntry(
        Processor, Payment.Amount, Payment.RequestedAt.UtcDateTime);
}

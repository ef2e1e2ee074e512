namespace PaymentGateway.Tests.Chaos;

/// <summary>The rules of a ledger that was purged under load; the processors' charges stay the evidence.</summary>
/// <param name="Entries">Every payment of the load, each posted once by its client.</param>
public sealed record ChaosPurgeCheck(
    IReadOnlyList<ChaosPurge> Purges, IReadOnlyList<LoadEntry> Entries,
    IReadOnlyDictionary<Guid, LedgerEntry> Settlements, IReadOnlyList<ProcessorStore> Stores)
{
    private const int ShownMax = 5;

    private readonly ILookup<Guid, ProcessorCharge> _stored = ProcessorStore.ById(Stores);

    public static IEnumerable<string> Resurrected(
        ChaosPurge purge, IEnumerable<LoadEntry> entries, IReadOnlyDictionary<Guid, LedgerEntry> settlements) =>
        Report($"purged ({purge.During}), and in the ledger again", entries
            .Where(entry => purge.Empties(entry) && settlements.ContainsKey(entry.Id)).Select(entry => $"{entry}"));

    public IReadOnlyList<string> Find()
    {
        var last = Purges[^1];
        var known = Entries.ToDictionary(entry => entry.Id);
        return
        [
            .. Resurrected(last, Entries, Settlements),
            .. Report("acknowledged after the purge, and not in the ledger", Entries
                .Where(entry => last.Precedes(entry) && !Settlements.ContainsKey(entry.Id))
                .Select(entry => $"{entry}, {Charges(entry.Id)}")),
            .. Report("in the purged ledger, and not as it was sent", Settlements
                .Where(row => !known.TryGetValue(row.Key, out var sent) || sent.Amount != row.Value.Amount)
                .Select(row => $"{row}, sent {known.GetValueOrDefault(row.Key)}")),
            .. Report("in the purged ledger, and not so at their processor", Settlements
                .Where(row => !_stored[row.Key].Any(stored => stored.IsOf(row.Value)))
                .Select(row => $"{row}, {Charges(row.Key)}")),
            .. Report("charged by several processors around a purge", _stored
                .Where(charges => charges.Count() > 1 && !MayBeTwoPayments(known.GetValueOrDefault(charges.Key)))
                .Select(charges => Charges(charges.Key))),
        ];
    }

    /// <summary>The summary of a window at both instances: the processors' payments without purged ones.</summary>
    public GatewaySummary Expected(DateTimeOffset from, DateTimeOffset to)
    {
        return new GatewaySummary(Stores.ToDictionary(store => store.Processor, Sum));

        GatewayTotals Sum(ProcessorStore store)
        {
            var within = store.Payments.Where(payment => Settlements.ContainsKey(payment.CorrelationId)
                && payment.RequestedAt >= from && payment.RequestedAt <= to).ToList();
            return new GatewayTotals(within.Count, within.Sum(payment => payment.Amount));
        }
    }

    // nginx may post one again whose first instance died: accepted before the purge and, as another payment, after it.
    private bool MayBeTwoPayments(LoadEntry? entry) =>
        entry is not null && Purges.Any(purge => purge.Overlaps(entry));

    private string Charges(Guid id) => $"{id} charged {string.Join(" and ", _stored[id])}";

    private static IEnumerable<string> Report(string what, IEnumerable<string> found)
    {
        var all = found.ToList();
        if (all.Count > 0)
            yield return $"{all.Count} {what}:\n  {string.Join("\n  ", all.Take(ShownMax))}";
    }
}

/// <summary>A purge from its call to its answer, and what the system suffered meanwhile.</summary>
public sealed record ChaosPurge(string During, DateTimeOffset Called, DateTimeOffset Answered)
{
    // A client's notes are a little earlier than the answer that they are about.
    private static readonly TimeSpan Notes = TimeSpan.FromMilliseconds(5);

    public TimeSpan Took => Answered - Called;

    /// <summary>The client had its 202 before: the payment is deleted from the ledger for good.</summary>
    public bool Empties(LoadEntry entry) =>
        entry.Outcome == LoadOutcome.Acknowledged && entry.SentAt + entry.Latency + Notes < Called;

    /// <summary>The payment was sent after the answer and acknowledged: it belongs to the new ledger.</summary>
    public bool Precedes(LoadEntry entry) => entry.Outcome == LoadOutcome.Acknowledged && entry.SentAt > Answered;

    /// <summary>The POST overlapped the purge: the payment may belong to either ledger.</summary>
    public bool Overlaps(LoadEntry entry) =>
        entry.SentAt <= Answered && entry.SentAt + entry.Latency + Notes >= Called;
}

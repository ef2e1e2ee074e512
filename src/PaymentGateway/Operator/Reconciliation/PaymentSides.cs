using PaymentGateway.Charging;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>How ledger and processors differ about a payment or a window (docs/operations.md#reconciliation).</summary>
[JsonConverter(typeof(WordConverter<DifferenceKind>))]
internal enum DifferenceKind
{
    Unrecorded,
    Absent,
    Misplaced,
    ChargedTwice,

    /// <summary>Its processor holds it with another amount, and perhaps another requestedAt.</summary>
    Amount,
    RequestedAt,
    Unknown,
    Sums,
}

/// <summary>A payment as the ledger has it, and the answer of each processor: found or not found.</summary>
internal sealed record PaymentSides(PaymentRow Row, Dictionary<Processor, LookupOutcome> At)
{
    public Processor[] HeldBy =>
        At.Keys.Where(processor => At[processor].Result == LookupResult.Found).ToArray();

    /// <summary>How the sides differ; null where they do not.</summary>
    public DifferenceKind? Compare() => (Row.Processor, HeldBy) switch
    {
        (null, []) => null,
        // A processor that was removed from the configuration cannot be asked.
        var (settled, _) when settled is not null && At.Keys.All(processor => processor.Name != settled) => null,
        (_, []) => DifferenceKind.Absent,
        (_, [_, _, ..]) => DifferenceKind.ChargedTwice,
        (null, _) => DifferenceKind.Unrecorded,
        var (settled, held) when settled != held[0].Name => DifferenceKind.Misplaced,
        var (_, held) when At[held[0]].AmountCents != Row.AmountCents => DifferenceKind.Amount,
        var (_, held) when At[held[0]].RequestedAt != Row.RequestedAt => DifferenceKind.RequestedAt,
        _ => null,
    };
}

using PaymentGateway.Admin;
using PaymentGateway.Processors;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

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

[JsonConverter(typeof(WordConverter<RepairResult>))]
internal enum RepairResult
{
    Left,
    Recorded,
    Corrected,
    PutBack,
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

/// <summary>
/// A difference, as it is answered: of one payment, with the view of each side; or of a window at one processor, with
/// the number and sum of payments that the processor has beyond the ledger. Members that do not apply are null.
/// </summary>
/// <param name="Payment">Null for a window.</param>
/// <param name="Window">Null for a payment.</param>
/// <param name="Excess">Of a window: the processor's sums less the ledger's.</param>
internal sealed record Difference(
    DifferenceKind Kind, [property: JsonIgnore] PaymentSides? Payment,
    [property: JsonIgnore] DifferingWindow? Window = null, [property: JsonIgnore] Sums? Excess = null)
{
    public Guid? CorrelationId => Payment?.Row.CorrelationId;

    /// <summary>The side that lacks it; null where none does.</summary>
    public string? Lacks => Kind switch
    {
        DifferenceKind.Unrecorded or DifferenceKind.Unknown => "ledger",
        DifferenceKind.Absent => "processors",
        DifferenceKind.Misplaced => Payment!.Row.Processor,
        _ => null,
    };

    public LedgerSide? Ledger => Payment is { Row: var row }
        ? new LedgerSide(
            PaymentAnswer.StateOf(row), Money.FromCents(row.AmountCents), row.Processor, row.RequestedAt)
        : null;

    /// <summary>A <see cref="ProcessorSide"/> of each that holds it, by their names.</summary>
    public JsonObject? Processors => Payment is null ? null : ReconciliationReport.ByName(
        Payment.HeldBy, processor => JsonSerializer.SerializeToNode(
            new ProcessorSide(Money.FromCents(Payment.At[processor].AmountCents), Payment.At[processor].RequestedAt),
            ReconciliationJsonContext.Default.ProcessorSide));

    public string? Processor => Window?.Processor.Name;

    public DateTime? From => Window?.Window.From;

    public DateTime? To => Window?.Window.Last;

    public long? Payments => Excess?.Payments;

    public decimal? Amount => Excess?.Amount;

    /// <summary>Null where no repair was asked for.</summary>
    public RepairResult? Repair { get; init; }

    /// <summary>Why it was not repaired.</summary>
    public string? Why { get; init; }

    /// <summary>The kind changed between naming and confirming.</summary>
    [JsonIgnore]
    public bool HasChanged { get; init; }
}

/// <summary>A payment in the ledger; processor and requestedAt (UTC) where it is settled.</summary>
internal sealed record LedgerSide(PaymentState State, decimal Amount, string? Processor, DateTime? RequestedAt);

/// <summary>A payment that a processor holds; requestedAt is UTC.</summary>
internal sealed record ProcessorSide(decimal Amount, DateTime RequestedAt);

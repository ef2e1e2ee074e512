using PaymentGateway.Http;
using PaymentGateway.Processors;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

/// <summary>How ledger and processors differ about a payment, or about a window.</summary>
[JsonConverter(typeof(WordConverter<DifferenceKind>))]
internal enum DifferenceKind
{
    /// <summary>A processor holds it, and in the ledger it is not settled.</summary>
    Unrecorded,

    /// <summary>Settled in the ledger, and no processor holds it.</summary>
    Absent,

    /// <summary>Settled in the ledger at the one processor, and the other one holds it.</summary>
    Misplaced,

    /// <summary>Both processors hold it.</summary>
    ChargedTwice,

    /// <summary>Its processor holds it with another amount, and perhaps another requestedAt.</summary>
    Amount,

    /// <summary>Its processor holds it with another requestedAt.</summary>
    RequestedAt,

    /// <summary>A processor holds payments in a window of which the ledger has none.</summary>
    Unknown,

    /// <summary>The sums of a window differ, and its payments do not say why.</summary>
    Sums,
}

/// <summary>What became of a difference.</summary>
[JsonConverter(typeof(WordConverter<RepairResult>))]
internal enum RepairResult
{
    /// <summary>It differs still.</summary>
    Left,

    /// <summary>The ledger has it as settled now.</summary>
    Recorded,

    /// <summary>The ledger's settlement says now what the processor says.</summary>
    Corrected,

    /// <summary>In the ledger it is in doubt now, and will be charged.</summary>
    PutBack,
}

/// <summary>A payment as the ledger has it and as both processors have it.</summary>
internal sealed record PaymentSides(PaymentRow Row, LookupOutcome AtDefault, LookupOutcome AtFallback)
{
    /// <summary>Where the ledger has it settled; null: nowhere.</summary>
    public Processor? SettledAt => (Processor?)Row.Processor;

    /// <summary>Who holds it, where only one does.</summary>
    public Processor? HeldBy => (AtDefault.Result, AtFallback.Result) switch
    {
        (LookupResult.Found, LookupResult.NotFound) => Processor.Default,
        (LookupResult.NotFound, LookupResult.Found) => Processor.Fallback,
        _ => null,
    };

    public LookupOutcome At(Processor processor) => processor == Processor.Default ? AtDefault : AtFallback;

    /// <summary>Whether a processor holds it exactly as the ledger has it settled there.</summary>
    public bool IsAsSettled(Processor processor) => SettledAt == processor
        && At(processor) is { Result: LookupResult.Found } held
        && (held.AmountCents, held.RequestedAt) == (Row.AmountCents, Row.RequestedAt);

    /// <summary>How the sides differ; null where they do not. Both processors have given an answer.</summary>
    public DifferenceKind? Compare()
    {
        var none = AtDefault.Result == LookupResult.NotFound && AtFallback.Result == LookupResult.NotFound;
        return (SettledAt, HeldBy) switch
        {
            (null, null) when none => null,
            (_, null) when none => DifferenceKind.Absent,
            (_, null) => DifferenceKind.ChargedTwice,
            (null, _) => DifferenceKind.Unrecorded,
            var (settled, held) when settled != held => DifferenceKind.Misplaced,
            var (_, held) when At(held!.Value).AmountCents != Row.AmountCents => DifferenceKind.Amount,
            var (_, held) when At(held!.Value).RequestedAt != Row.RequestedAt => DifferenceKind.RequestedAt,
            _ => null,
        };
    }
}

/// <summary>
/// A difference, as it is answered: of one payment, with what each side has of it; or of a window at one processor,
/// with how many payments the processor has beyond the ledger, and their sum. What does not apply is null.
/// </summary>
/// <param name="Payment">Null for a window.</param>
/// <param name="Window">Null for a payment.</param>
internal sealed record Difference(
    DifferenceKind Kind, [property: JsonIgnore] PaymentSides? Payment, [property: JsonIgnore] DifferingWindow? Window)
{
    public Guid? CorrelationId => Payment?.Row.CorrelationId;

    /// <summary>The side that lacks it; null where none does.</summary>
    public string? Lacks => Kind switch
    {
        DifferenceKind.Unrecorded or DifferenceKind.Unknown => "ledger",
        DifferenceKind.Absent => "processors",
        DifferenceKind.Misplaced => Words.Of(Payment!.SettledAt!.Value),
        _ => null,
    };

    public LedgerSide? Ledger => Payment is null ? null : LedgerSide.Of(Payment);

    public ProcessorSide? Default => ProcessorSide.Of(Payment?.AtDefault);

    public ProcessorSide? Fallback => ProcessorSide.Of(Payment?.AtFallback);

    public Processor? Processor => Window?.Processor;

    public DateTime? From => Window?.Window.From;

    public DateTime? To => Window?.Window.Last;

    public long? Payments => Window is null ? null : Excess.Payments;

    public decimal? Amount => Window is null ? null : Excess.Amount;

    /// <summary>Null where no repair was asked for.</summary>
    public RepairResult? Repair { get; init; }

    /// <summary>Why it is left, where a repair was asked for.</summary>
    public string? Why { get; init; }

    /// <summary>Of a window: what the processor holds beyond the ledger.</summary>
    [JsonIgnore]
    public Sums Excess { get; init; }

    /// <summary>It was another kind of difference when it was named.</summary>
    [JsonIgnore]
    public bool HasChanged { get; init; }
}

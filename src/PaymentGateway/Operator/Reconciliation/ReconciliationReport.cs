using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// The findings of a reconciliation so far, and its answer. From and To are the bounds of the comparison, inclusive,
/// UTC; null where there was nothing to compare.
/// </summary>
internal sealed class ReconciliationReport(bool repair)
{
    public string Outcome =>
        Stop is not null ? "stopped"
        : Differences.Count == Repaired && !Truncated ? Repaired > 0 ? "repaired" : "agrees"
        : "differs";

    /// <summary>Why it stopped early; null when it did not.</summary>
    public string? Stopped => Stop?.Message;

    public DateTime? From => Window?.From;

    public DateTime? To => Window?.Last;

    /// <summary>The <see cref="Comparison"/> of the whole window at each processor, by their names.</summary>
    public JsonObject Processors => ByName(Compared.Keys, processor => JsonSerializer.SerializeToNode(
        Compared[processor], ReconciliationJsonContext.Default.Comparison));

    /// <summary>Calls to all processors together.</summary>
    public int Calls { get; set; }

    public bool Repair => repair;

    /// <summary>There may be more differences than were found or confirmed.</summary>
    public bool Truncated { get; set; }

    public int Repaired => Differences.Count(one => one.Repair is not (null or RepairResult.Left));

    public List<Difference> Differences { get; } = [];

    [JsonIgnore]
    public TimeWindow? Window { get; set; }

    [JsonIgnore]
    public Dictionary<Processor, Comparison> Compared { get; } = [];

    [JsonIgnore]
    public StoppedException? Stop { get; set; }

    /// <summary>An object with a member for each processor; a dictionary would enlarge the binary.</summary>
    public static JsonObject ByName(IEnumerable<Processor> processors, Func<Processor, JsonNode?> write)
    {
        var all = new JsonObject();
        foreach (var processor in processors)
            all[processor.Name] = write(processor);
        return all;
    }

    [JsonIgnore]
    public bool IsCompared { get; set; }
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
            PaymentAnswer.StateOf(row), Money.FromCents(row.AmountCents), row.Processor, row.RequestedAt,
            row.Payer)
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
internal sealed record LedgerSide(
    PaymentState State, decimal Amount, string? Processor, DateTime? RequestedAt, string? Payer);

/// <summary>A payment that a processor holds; requestedAt is UTC.</summary>
internal sealed record ProcessorSide(decimal Amount, DateTime RequestedAt);

[JsonConverter(typeof(WordConverter<RepairResult>))]
internal enum RepairResult
{
    Left,
    Recorded,
    Corrected,
    PutBack,
}

/// <summary>A reconciliation cannot go on; the message is for an operator.</summary>
internal sealed class StoppedException(
    string message, Problem? problem = null, string? parameter = null, int? retryAfterSeconds = null)
    : Exception(message)
{
    /// <summary>The answer if nothing was compared yet; null: the report has the message in any case.</summary>
    public Problem? Problem => problem;

    public string? Parameter => parameter;

    public int? RetryAfterSeconds => retryAfterSeconds;
}

/// <summary>How far a reconciliation has come. One thread writes, any may read.</summary>
internal sealed class ReconciliationProgress
{
    /// <summary>comparing, naming, confirming or repairing.</summary>
    public string Phase { get; set; } = "comparing";

    public int Calls { get; set; }

    /// <summary>Where the comparison is, UTC.</summary>
    public DateTime At { get; set; }
}

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReconciliationReport))]
[JsonSerializable(typeof(ReconciliationProgress))]
[JsonSerializable(typeof(Comparison))]
[JsonSerializable(typeof(ProcessorSide))]
internal sealed partial class ReconciliationJsonContext : JsonSerializerContext;

using System.Text.Json;
using System.Text.Json.Serialization;
using PaymentGateway.Admin;
using PaymentGateway.Http;
using PaymentGateway.Processors;

namespace PaymentGateway.Reconciliation;

/// <summary>What a reconciliation has found so far.</summary>
internal sealed class ReconciliationReport(ReconciliationQuery query)
{
    /// <summary>Null where there was nothing to compare.</summary>
    public TimeWindow? Window { get; set; }

    public Comparison? Default { get; set; }

    public Comparison? Fallback { get; set; }

    public List<Difference> Differences { get; } = [];

    /// <summary>Calls to both processors.</summary>
    public int Calls { get; set; }

    /// <summary>There may be more differences than were looked for, or than were confirmed.</summary>
    public bool IsTruncated { get; set; }

    /// <summary>Why it did not come to its end.</summary>
    public StoppedException? Stopped { get; set; }

    public int Repaired => Differences.Count(one => one.Repair != RepairResult.Left);

    /// <summary>stopped; or agrees, repaired or differs.</summary>
    public string Outcome =>
        Stopped is not null ? "stopped"
        : Differences.Count == Repaired && !IsTruncated ? Repaired > 0 ? "repaired" : "agrees"
        : "differs";

    /// <summary>As an operator sees it.</summary>
    public ReconciliationAnswer ToAnswer() => new(
        Outcome, Stopped?.Message, Window?.From, Window?.Last, Default, Fallback, Calls, query.Repair,
        IsTruncated || Stopped is not null, Repaired,
        Differences.ConvertAll(one => DifferenceAnswer.Of(one, query.Repair)));
}

/// <summary>
/// The report of a reconciliation. From and To are the bounds of what was compared, both inclusive, UTC; Stopped says
/// why it did not come to its end.
/// </summary>
internal sealed record ReconciliationAnswer(
    string Outcome, string? Stopped, DateTime? From, DateTime? To, Comparison? Default, Comparison? Fallback,
    int Calls, bool Repair, bool Truncated, int Repaired, List<DifferenceAnswer> Differences);

/// <summary>
/// A difference: of one payment, with what each side has of it; or of a window at one processor, with how many payments
/// the processor has beyond the ledger, and their sum. What does not apply is left out.
/// </summary>
internal sealed record DifferenceAnswer(
    string Kind, Guid? CorrelationId, string? Lacks, LedgerSide? Ledger, ProcessorSide? Default,
    ProcessorSide? Fallback, string? Processor, DateTime? From, DateTime? To, long? Payments, decimal? Amount,
    string? Repair, string? Why)
{
    public static DifferenceAnswer Of(Difference difference, bool repair)
    {
        var (payment, window) = (difference.Payment, difference.Window);
        return new DifferenceAnswer(
            Words.Of(difference.Kind), payment?.Row.CorrelationId, difference.LackedBy,
            payment is null ? null : LedgerSide.Of(payment), ProcessorSide.Of(payment?.AtDefault),
            ProcessorSide.Of(payment?.AtFallback), window is null ? null : Words.Of(window.Processor),
            window?.Window.From, window?.Window.Last, window is null ? null : difference.Excess.Payments,
            window is null ? null : difference.Excess.Amount,
            repair ? Words.Of(difference.Repair) : null, difference.Why);
    }
}

/// <summary>A payment in the ledger; processor and requestedAt (UTC) where it is settled.</summary>
internal sealed record LedgerSide(string State, decimal Amount, string? Processor, DateTime? RequestedAt)
{
    public static LedgerSide Of(PaymentSides payment) => new(
        Words.Of(PaymentAnswer.StateOf(payment.Row)), Money.FromCents(payment.Row.AmountCents),
        payment.SettledAt is { } processor ? Words.Of(processor) : null, payment.Row.RequestedAt);
}

/// <summary>A payment that a processor holds; requestedAt is UTC.</summary>
internal sealed record ProcessorSide(decimal Amount, DateTime RequestedAt)
{
    public static ProcessorSide? Of(LookupOutcome? held) => held is { Result: LookupResult.Found } found
        ? new ProcessorSide(Money.FromCents(found.AmountCents), found.RequestedAt)
        : null;
}

/// <summary>
/// How far a reconciliation has come: comparing, naming, confirming or repairing; its calls to processors; and where
/// the comparison is, UTC.
/// </summary>
internal sealed record ProgressAnswer(string Phase, int Calls, DateTime At);

/// <summary>Keeps how far a reconciliation has come. One thread writes, any may read.</summary>
internal sealed class ReconciliationProgress
{
    private volatile ProgressAnswer _now = new("comparing", 0, DateTime.MinValue);

    public ProgressAnswer Now
    {
        get => _now;
        set => _now = value;
    }
}

/// <summary>The answers of a reconciliation, for the serializer.</summary>
[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReconciliationAnswer))]
[JsonSerializable(typeof(ProgressAnswer))]
internal sealed partial class ReconciliationJsonContext : JsonSerializerContext;

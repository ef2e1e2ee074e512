using PaymentGateway.Admin;
using PaymentGateway.Http;
using PaymentGateway.Processors;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// The findings of a reconciliation so far, and its answer. From and To are the bounds of the comparison, inclusive,
/// UTC; null where there was nothing to compare.
/// </summary>
internal sealed class ReconciliationReport(bool repair)
{
    /// <summary>stopped; or agrees, repaired or differs.</summary>
    public string Outcome =>
        Stop is not null ? "stopped"
        : Differences.Count == Repaired && !Truncated ? Repaired > 0 ? "repaired" : "agrees"
        : "differs";

    /// <summary>Why it did not come to its end.</summary>
    public string? Stopped => Stop?.Message;

    public DateTime? From => Window?.From;

    public DateTime? To => Window?.Last;

    public Comparison? Default { get; set; }

    public Comparison? Fallback { get; set; }

    /// <summary>To both processors.</summary>
    public int Calls { get; set; }

    public bool Repair => repair;

    /// <summary>There may be more differences than were looked for, or than were confirmed.</summary>
    public bool Truncated { get; set; }

    public int Repaired => Differences.Count(one => one.Repair is not (null or RepairResult.Left));

    public List<Difference> Differences { get; } = [];

    [JsonIgnore]
    public TimeWindow? Window { get; set; }

    [JsonIgnore]
    public StoppedException? Stop { get; set; }
}

/// <summary>A payment in the ledger; processor and requestedAt (UTC) where it is settled.</summary>
internal sealed record LedgerSide(PaymentState State, decimal Amount, Processor? Processor, DateTime? RequestedAt)
{
    public static LedgerSide Of(PaymentSides payment) => new(
        PaymentAnswer.StateOf(payment.Row), Money.FromCents(payment.Row.AmountCents), payment.SettledAt,
        payment.Row.RequestedAt);
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
    Converters = [typeof(InstantConverter), typeof(WordConverter<Processor>)])]
[JsonSerializable(typeof(ReconciliationReport))]
[JsonSerializable(typeof(ProgressAnswer))]
internal sealed partial class ReconciliationJsonContext : JsonSerializerContext;

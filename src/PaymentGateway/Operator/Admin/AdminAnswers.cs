using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// A payment as a client sees it (contract.md, GET /payments/{id}). Times are UTC; what is not known is left out.
/// </summary>
internal sealed record PaymentAnswer(
    Guid CorrelationId, decimal Amount, PaymentState State, string? Processor, DateTime AcceptedAt,
    DateTime? RequestedAt, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason, short? Attempts,
    string? Payer = null)
{
    public static PaymentAnswer Of(PaymentRow row)
    {
        var state = StateOf(row);
        return new PaymentAnswer(
            row.CorrelationId, Money.FromCents(row.AmountCents), state, row.Processor, row.AcceptedAt,
            row.RequestedAt, state == PaymentState.InDoubt ? row.InDoubtAt : null, row.ParkedAt, row.ParkedReason,
            row.Attempts, row.Payer);
    }

    /// <summary>Settled wins over any other state that was stored before.</summary>
    public static PaymentState StateOf(PaymentRow row) =>
        row.Processor is not null ? PaymentState.Settled
        : row.OwnerEpoch == Owners.Parked ? PaymentState.Parked
        : row.InDoubtAt is not null ? PaymentState.InDoubt
        : PaymentState.Accepted;
}

/// <summary>
/// Accepted: stored, and waits or is being charged. InDoubt: a charge had no clear answer. Settled: a processor charged
/// it. Parked: a processor refused it for good, and it waits for an operator.
/// </summary>
[JsonConverter(typeof(WordConverter<PaymentState>))]
internal enum PaymentState
{
    Accepted,
    InDoubt,
    Settled,
    Parked,
}

/// <summary>A page of payments; Next is where to go on, null at the end.</summary>
internal sealed record PaymentList(
    List<PaymentAnswer> Payments,
    [property: JsonIgnore(Condition = JsonIgnoreCondition.Never)] string? Next);

/// <summary>A page of actions; Next is where to go on, null at the end.</summary>
internal sealed record ActionList(
    List<OperatorActionRow> Actions, [property: JsonIgnore(Condition = JsonIgnoreCondition.Never)] string? Next);

/// <summary>Complete is false when the time was over before the last payment.</summary>
internal sealed record ReplayAnswer(int Replayed, bool Complete);

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(PaymentAnswer))]
[JsonSerializable(typeof(PaymentList))]
[JsonSerializable(typeof(ActionList))]
[JsonSerializable(typeof(ReplayAnswer))]
internal sealed partial class AdminJsonContext : JsonSerializerContext;

using System.Text.Json.Serialization;
using PaymentGateway.Storage;

namespace PaymentGateway.Querying;

/// <summary>
/// A payment as a client sees it (contract.md, GET /payments/{id}). Times are UTC; what is not known is left out.
/// </summary>
internal sealed record PaymentAnswer(
    Guid CorrelationId, decimal Amount, string State, string? Processor, DateTime AcceptedAt,
    DateTime? RequestedAt, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason, short? Attempts)
{
    public static PaymentAnswer Of(PaymentRow row)
    {
        var state = StateOf(row);
        return new PaymentAnswer(
            row.CorrelationId, Money.FromCents(row.AmountCents), PaymentWords.Of(state),
            row.Processor is { } processor ? PaymentWords.Of((Processor)processor) : null, row.AcceptedAt,
            row.RequestedAt, state == PaymentState.InDoubt ? row.InDoubtAt : null, row.ParkedAt, row.ParkedReason,
            row.Attempts);
    }

    /// <summary>What is settled is so, whatever else was said of it before.</summary>
    public static PaymentState StateOf(PaymentRow row) =>
        row.Processor is not null ? PaymentState.Settled
        : row.OwnerEpoch == PaymentStates.Parked ? PaymentState.Parked
        : row.InDoubtAt is not null ? PaymentState.InDoubt
        : PaymentState.Accepted;
}

/// <summary>What became of a payment so far.</summary>
internal enum PaymentState
{
    /// <summary>Stored; it waits, or a charge is in flight.</summary>
    Accepted,

    /// <summary>A charge had no clear answer.</summary>
    InDoubt,

    /// <summary>A processor has charged it.</summary>
    Settled,

    /// <summary>A processor refused it for good; it waits for an operator.</summary>
    Parked,
}

/// <summary>A page of payments; Next is where to go on, null at the end.</summary>
internal sealed record PaymentList(
    List<PaymentAnswer> Payments,
    [property: JsonIgnore(Condition = JsonIgnoreCondition.Never)] string? Next);

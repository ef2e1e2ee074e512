using PaymentGateway.Accepting;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>GET /payments/{id} for a token or everyone, and GET /payments for an operator.</summary>
internal static class QueryEndpoints
{
    public const string OnePath = PaymentEndpoints.Path + "/{id}";

    public static void MapLookUp(this IEndpointRouteBuilder routes) =>
        routes.MapGetAndHead(OnePath, routes.ServiceProvider.GetRequiredService<PaymentSearch>().ShowAsync);

    /// <summary>Maps the list of all payments: for operators and their page.</summary>
    public static void MapPaymentList(this IEndpointRouteBuilder admin) =>
        admin.MapGet(PaymentEndpoints.Path, admin.ServiceProvider.GetRequiredService<PaymentSearch>().ListAsync);
}

/// <summary>
/// A payment as a client sees it (contract.md, GET /payments/{id}). Times are UTC; what is not known is left out.
/// </summary>
internal sealed record PaymentAnswer(
    Guid CorrelationId, decimal Amount, PaymentState State, string? Processor, DateTime AcceptedAt,
    DateTime? RequestedAt, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason, short? Attempts)
{
    public static PaymentAnswer Of(PaymentRow row)
    {
        var state = StateOf(row);
        return new PaymentAnswer(
            row.CorrelationId, Money.FromCents(row.AmountCents), state, row.Processor, row.AcceptedAt,
            row.RequestedAt, state == PaymentState.InDoubt ? row.InDoubtAt : null, row.ParkedAt, row.ParkedReason,
            row.Attempts);
    }

    /// <summary>Settled wins over any other state that was stored before.</summary>
    public static PaymentState StateOf(PaymentRow row) =>
        row.Processor is not null ? PaymentState.Settled
        : row.OwnerEpoch == PaymentStates.Parked ? PaymentState.Parked
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

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(PaymentAnswer))]
[JsonSerializable(typeof(PaymentList))]
[JsonSerializable(typeof(ActionList))]
[JsonSerializable(typeof(ReplayAnswer))]
internal sealed partial class AdminJsonContext : JsonSerializerContext;

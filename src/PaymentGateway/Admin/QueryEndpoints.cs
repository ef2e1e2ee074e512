using PaymentGateway.Accepting;
using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>
/// What became of single payments: GET /payments/{id} for whoever knows the id, and GET /payments for an operator, as
/// it shows the amounts of all. Where a token is set, both ask for it.
/// </summary>
internal static class QueryEndpoints
{
    public const string OnePath = PaymentEndpoints.Path + "/{id}";

    /// <param name="routes">For whoever has the token.</param>
    /// <param name="admin">For an operator, on a path that others call.</param>
    public static void MapQueries(this IEndpointRouteBuilder routes, IEndpointRouteBuilder admin)
    {
        var search = routes.ServiceProvider.GetRequiredService<PaymentSearch>();
        routes.MapGetAndHead(OnePath, context => ShowAsync(context, search));
        admin.MapPaymentList();
    }

    /// <summary>Maps the list alone, for an operator or for their page.</summary>
    public static void MapPaymentList(this IEndpointRouteBuilder admin)
    {
        var search = admin.ServiceProvider.GetRequiredService<PaymentSearch>();
        admin.MapGet(PaymentEndpoints.Path, context => ListAsync(context, search));
    }

    private static async Task ShowAsync(HttpContext context, PaymentSearch search)
    {
        if (!Guid.TryParseExact(context.Request.RouteValues["id"] as string, "D", out var id))
        {
            await ProblemAnswer.WriteAsync(context, Problems.InvalidId, "id must be a UUID.", "id");
            return;
        }

        var (admitted, payment) = await search.FindAsync(id);
        await (payment is not null
            ? JsonAnswer.WriteAsync(context, PaymentAnswer.Of(payment), QueryJsonContext.Default.PaymentAnswer)
            : !admitted
                ? QueryLimit.RefuseAsync(context)
                : ProblemAnswer.WriteAsync(
                    context, Problems.PaymentNotFound, "No accepted payment has this correlationId.", "id"));
    }

    private static async Task ListAsync(HttpContext context, PaymentSearch search)
    {
        if (await PaymentQuery.ReadAsync(context) is not { } query)
            return;

        var (_, page) = await search.FindAsync(query);
        await (page is null
            ? QueryLimit.RefuseAsync(context)
            : JsonAnswer.WriteAsync(
                context, new PaymentList(
                    page.Payments.ConvertAll(PaymentAnswer.Of), page.Next is { } next ? CursorText.Write(next) : null),
                QueryJsonContext.Default.PaymentList));
    }
}

/// <summary>
/// A payment as a client sees it (contract.md, GET /payments/{id}). Times are UTC; what is not known is left out.
/// </summary>
internal sealed record PaymentAnswer(
    Guid CorrelationId, decimal Amount, PaymentState State, Processor? Processor, DateTime AcceptedAt,
    DateTime? RequestedAt, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason, short? Attempts)
{
    public static PaymentAnswer Of(PaymentRow row)
    {
        var state = StateOf(row);
        return new PaymentAnswer(
            row.CorrelationId, Money.FromCents(row.AmountCents), state, (Processor?)row.Processor, row.AcceptedAt,
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
[JsonConverter(typeof(WordConverter<PaymentState>))]
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

/// <summary>The answers about single payments, for the serializer.</summary>
[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter), typeof(WordConverter<Processor>)])]
[JsonSerializable(typeof(PaymentAnswer))]
[JsonSerializable(typeof(PaymentList))]
internal sealed partial class QueryJsonContext : JsonSerializerContext;

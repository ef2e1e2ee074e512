using PaymentGateway.Accepting;
using PaymentGateway.Answering;

namespace PaymentGateway.Querying;

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
        admin.MapGet(PaymentEndpoints.Path, context => ListAsync(context, search));
    }

    private static async Task ShowAsync(HttpContext context, PaymentSearch search)
    {
        if (!Guid.TryParseExact(context.Request.RouteValues["id"] as string, "D", out var id))
        {
            await ProblemAnswer.WriteAsync(context, 400, "Invalid id", "id must be a UUID.", "id");
            return;
        }

        var (admitted, payment) = await search.FindAsync(id);
        await (payment is not null
            ? JsonAnswer.WriteAsync(context, PaymentAnswer.Of(payment), QueryJsonContext.Default.PaymentAnswer)
            : !admitted
                ? QueryLimit.RefuseAsync(context)
                : ProblemAnswer.WriteAsync(
                    context, 404, "Payment not found", "No accepted payment has this correlationId.", "id"));
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

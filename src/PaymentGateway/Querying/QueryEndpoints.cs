using PaymentGateway.Accepting;
using PaymentGateway.Answering;

namespace PaymentGateway.Querying;

/// <summary>
/// GET /payments/{id} and GET /payments: what became of single payments. With the admin token, as they show amounts.
/// </summary>
internal static class QueryEndpoints
{
    public const string OnePath = PaymentEndpoints.Path + "/{id}";

    /// <param name="admin">The group of an operator's calls.</param>
    public static void MapQueries(this IEndpointRouteBuilder admin)
    {
        var search = admin.ServiceProvider.GetRequiredService<PaymentSearch>();
        admin.MapGet(OnePath, context => ShowAsync(context, search));
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
            ? context.Response.WriteAsJsonAsync(PaymentAnswer.Of(payment), QueryJsonContext.Default.PaymentAnswer)
            : !admitted
                ? RefuseAsync(context)
                : ProblemAnswer.WriteAsync(
                    context, 404, "Payment not found", "No accepted payment has this correlationId.", "id"));
    }

    private static async Task ListAsync(HttpContext context, PaymentSearch search)
    {
        if (await PaymentQuery.ReadAsync(context) is not { } query)
            return;

        var (_, page) = await search.FindAsync(query);
        await (page is null
            ? RefuseAsync(context)
            : context.Response.WriteAsJsonAsync(
                new PaymentList(
                    page.Payments.ConvertAll(PaymentAnswer.Of), page.Next is { } next ? CursorText.Write(next) : null),
                QueryJsonContext.Default.PaymentList));
    }

    private static Task RefuseAsync(HttpContext context) => ProblemAnswer.WriteAsync(
        context, 503, "Overloaded", "Too many payments are being asked for. Ask again.", null, 1);
}

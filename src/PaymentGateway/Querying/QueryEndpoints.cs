using PaymentGateway.Accepting;
using PaymentGateway.Answering;
using PaymentGateway.Storage;

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
        var payments = admin.ServiceProvider.GetRequiredService<PaymentQueryStore>();
        var search = admin.ServiceProvider.GetRequiredService<PaymentSearch>();
        admin.MapGet(OnePath, context => ShowAsync(context, payments));
        admin.MapGet(PaymentEndpoints.Path, context => ListAsync(context, search));
    }

    private static async Task ShowAsync(HttpContext context, PaymentQueryStore payments)
    {
        if (!Guid.TryParseExact(context.Request.RouteValues["id"] as string, "D", out var id))
            await ProblemAnswer.WriteAsync(context, 400, "Invalid id", "id must be a UUID.", "id");
        else if (await payments.FindAsync(id) is { } row)
            await context.Response.WriteAsJsonAsync(
                PaymentAnswer.Of(row), QueryJsonContext.Default.PaymentAnswer);
        else
            await ProblemAnswer.WriteAsync(
                context, 404, "Payment not found", "No accepted payment has this correlationId.", "id");
    }

    private static async Task ListAsync(HttpContext context, PaymentSearch search)
    {
        if (await PaymentQuery.ReadAsync(context) is not { } query)
            return;

        var found = await search.FindAsync(query);
        await context.Response.WriteAsJsonAsync(
            new PaymentList(
                found.Payments.ConvertAll(PaymentAnswer.Of), found.Next is { } next ? CursorText.Write(next) : null),
            QueryJsonContext.Default.PaymentList);
    }
}

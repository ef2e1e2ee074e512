using System.Data.Common;
using PaymentGateway.Recording;

namespace PaymentGateway.Settling;

/// <summary>An operator's calls: GET /admin/parked and POST /admin/parked/{id}/replay, with the admin token.</summary>
internal static class ParkedEndpoints
{
    public const string ListPath = "/admin/parked";

    public static bool IsReplay(string path) =>
        path.Length > ListPath.Length + "//replay".Length
        && path.StartsWith(ListPath + "/", StringComparison.OrdinalIgnoreCase)
        && path.EndsWith("/replay", StringComparison.OrdinalIgnoreCase);

    public static void MapParked(this IEndpointRouteBuilder routes)
    {
        var parked = routes.ServiceProvider.GetRequiredService<ParkedStore>();
        var token = routes.ServiceProvider.GetRequiredService<AdminToken>();
        routes.MapGet(ListPath, context => ListAsync(context, parked, token));
        routes.MapPost(ListPath + "/{id}/replay", context => ReplayAsync(context, parked, token));
    }

    private static async Task ListAsync(HttpContext context, ParkedStore parked, AdminToken token)
    {
        if (!await token.AdmitsAsync(context))
            return;

        try
        {
            var rows = await parked.ListAsync();
            await context.Response.WriteAsJsonAsync(
                rows.ConvertAll(row => new ParkedPayment(
                    row.CorrelationId, Money.FromCents(row.AmountCents), row.AcceptedAt, row.Reason)),
                GatewayJsonContext.Default.ListParkedPayment);
        }
        catch (Exception away) when (away is DbException or TimeoutException)
        {
            await ProblemAnswer.WriteOutOfReachAsync(context);
        }
    }

    private static async Task ReplayAsync(HttpContext context, ParkedStore parked, AdminToken token)
    {
        if (!await token.AdmitsAsync(context))
            return;

        if (!Guid.TryParse(context.Request.RouteValues["id"] as string, out var id))
        {
            await ProblemAnswer.WriteAsync(context, 400, "Invalid id", "id must be a UUID.", "id");
            return;
        }

        try
        {
            if (await parked.ReplayAsync(id))
                context.Response.StatusCode = 202;
            else
                await ProblemAnswer.WriteAsync(
                    context, 404, "Not parked", "No parked payment has this correlationId.", "id");
        }
        catch (Exception away) when (away is DbException or TimeoutException)
        {
            await ProblemAnswer.WriteOutOfReachAsync(context);
        }
    }
}

/// <summary>A parked payment as an operator sees it; acceptedAt is UTC.</summary>
internal sealed record ParkedPayment(Guid CorrelationId, decimal Amount, DateTime AcceptedAt, string Reason);

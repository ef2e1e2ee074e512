using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>GET /admin/actions, an operator's call: what operators did, the newest first, in pages.</summary>
internal static class ActionsEndpoint
{
    public const string Path = "/admin/actions";

    public static void MapActions(this IEndpointRouteBuilder admin)
    {
        var actions = admin.ServiceProvider.GetRequiredService<OperatorActionStore>();
        var permits = admin.ServiceProvider.GetRequiredService<QueryLimit>();
        admin.MapGet(Path, context => ListAsync(context, actions, permits));
    }

    private static async Task ListAsync(HttpContext context, OperatorActionStore actions, QueryLimit permits)
    {
        var reader = new QueryReader(context);
        var limit = reader.Limit();
        var before = reader.After(static text =>
            long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var id) && id > 0
                ? id : (long?)null);
        if (await reader.AnswerFirstFaultAsync())
            return;

        // One more than is shown, to know whether another page follows.
        await permits.AnswerAsync(
            context, () => actions.PageAsync(before ?? long.MaxValue, limit + 1),
            rows => JsonAnswer.WriteAsync(
                context,
                new ActionList(rows.Take(limit).ToList(), rows.Count > limit ? $"{rows[limit - 1].Id}" : null),
                AdminJsonContext.Default.ActionList));
    }
}

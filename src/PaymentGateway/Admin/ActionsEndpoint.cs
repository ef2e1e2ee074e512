using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>GET /admin/actions, an operator's call: what operators did, the newest first, in pages.</summary>
internal static class ActionsEndpoint
{
    public const string Path = "/admin/actions";

    /// <param name="admin">The group of an operator's calls.</param>
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
        if (await reader.RefusesAsync())
            return;

        // One more than is shown, to know whether another page follows.
        var (_, rows) = await permits.AskAsync<List<OperatorActionRow>>(
            async () => await actions.PageAsync(before ?? long.MaxValue, limit + 1));
        if (rows is null)
        {
            await QueryLimit.RefuseAsync(context);
            return;
        }

        var next = rows.Count > limit ? $"{rows[limit - 1].Id}" : null;
        await JsonAnswer.WriteAsync(
            context, new ActionList(rows.Take(limit).Select(ActionAnswer.Of).ToList(), next),
            ActionsJsonContext.Default.ActionList);
    }
}

/// <summary>A page of actions; Next is where to go on, null at the end.</summary>
internal sealed record ActionList(List<ActionAnswer> Actions, string? Next);

/// <summary>An action of an operator; At is UTC.</summary>
internal sealed record ActionAnswer(
    DateTime At, string Instance, string Actor, string Action, string Target, string Outcome, string Address)
{
    public static ActionAnswer Of(OperatorActionRow row) =>
        new(row.ActedAt, row.Instance, row.Actor, row.Action, row.Target, row.Outcome, row.Address);
}

/// <summary>The list of actions, for the serializer.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ActionList))]
internal sealed partial class ActionsJsonContext : JsonSerializerContext;

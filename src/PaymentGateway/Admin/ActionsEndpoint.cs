using System.Globalization;
using System.Text.Json.Serialization;
using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>GET /admin/actions, an operator's call: what operators did, the newest first, in pages.</summary>
internal static class ActionsEndpoint
{
    public const string Path = "/admin/actions";

    private const int LimitMax = 200;
    private const int LimitDefault = 50;

    /// <param name="admin">The group of an operator's calls.</param>
    public static void MapActions(this IEndpointRouteBuilder admin)
    {
        var actions = admin.ServiceProvider.GetRequiredService<OperatorActionStore>();
        var limit = admin.ServiceProvider.GetRequiredService<QueryLimit>();
        admin.MapGet(Path, context => ListAsync(context, actions, limit));
    }

    private static async Task ListAsync(HttpContext context, OperatorActionStore actions, QueryLimit limit)
    {
        long count = LimitDefault, before = long.MaxValue;
        foreach (var (name, values) in context.Request.Query)
        {
            var problem = name switch
            {
                "limit" when !TryRead(values.ToString(), LimitMax, ref count) =>
                    $"must be a whole number from 1 to {LimitMax}.",
                "after" when !TryRead(values.ToString(), long.MaxValue, ref before) =>
                    "must be the next of an earlier page, as it was.",
                "limit" or "after" => null,
                _ => "is no parameter of this call.",
            };
            if (problem is null)
                continue;

            await ProblemAnswer.WriteAsync(context, Problems.InvalidQuery, $"{name} {problem}", name);
            return;
        }

        // One more than is shown, to know whether another page follows.
        var (_, rows) = await limit.AskAsync<List<OperatorActionRow>>(
            async () => await actions.PageAsync(before, (int)count + 1));
        if (rows is null)
        {
            await QueryLimit.RefuseAsync(context);
            return;
        }

        var next = rows.Count > count ? $"{rows[(int)count - 1].Id}" : null;
        await JsonAnswer.WriteAsync(
            context, new ActionList(rows.Take((int)count).Select(ActionAnswer.Of).ToList(), next),
            ActionsJsonContext.Default.ActionList);
    }

    private static bool TryRead(string text, long most, ref long value)
    {
        if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            || number < 1 || number > most)
            return false;

        value = number;
        return true;
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

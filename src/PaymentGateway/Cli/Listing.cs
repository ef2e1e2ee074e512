using System.CommandLine;
using System.Globalization;
using System.Text.Json.Nodes;

namespace PaymentGateway.Cli;

/// <summary>Pages of the gateway as one list.</summary>
internal static class Listing
{
    private const int LimitMax = 100_000;

    public static readonly Option<int> Limit = Create();

    /// <summary>Follows the pages until so many rows are there, or there are no more.</summary>
    /// <param name="first">The path of the first page.</param>
    /// <param name="limit">Rows at most.</param>
    /// <param name="ask">The rows of a page, and the path of the next one.</param>
    public static async Task<Report> FollowAsync(
        string first, int limit, Func<string, Task<(JsonArray? Rows, string? Next)>> ask)
    {
        var all = new JsonArray();
        var (next, more) = ((string?)first, true);
        while (next is not null && all.Count < limit)
        {
            var left = limit - all.Count;
            (var rows, next) = await ask(next);
            foreach (var row in (rows ?? []).Take(left))
                all.Add(row?.DeepClone());
            more = next is not null || rows?.Count > left;
        }

        return new Report(all, Note: more ? $"more follow: --limit is {limit}" : null);
    }

    /// <summary>The same of answers that have their rows in a member, and the next page's cursor in next.</summary>
    public static Task<Report> FollowAsync(GatewayClient gateway, string member, string first, int limit) =>
        FollowAsync(first, limit, async path =>
        {
            var body = await gateway.GetAsync(path, member, "next");
            var next = (string?)body["next"] is { } cursor ? $"{first}&after={Uri.EscapeDataString(cursor)}" : null;
            return (body[member] as JsonArray, next);
        });

    private static Option<int> Create() => new("--limit")
    {
        Description = $"How many at most, from 1 to {LimitMax}.",
        HelpName = "count",
        DefaultValueFactory = static _ => 100,
        CustomParser = static given =>
        {
            if (given.Tokens is [var token]
                && int.TryParse(token.Value, NumberStyles.None, CultureInfo.InvariantCulture, out var count)
                && count is >= 1 and <= LimitMax)
                return count;
            given.AddError($"--limit must be a whole number from 1 to {LimitMax}");
            return 0;
        },
    };
}

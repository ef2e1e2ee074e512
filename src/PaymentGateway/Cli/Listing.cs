using System.CommandLine;

namespace PaymentGateway.Cli;

/// <summary>Pages of the gateway as one list.</summary>
internal static class Listing
{
    /// <summary>The most rows that the gateway gives at once.</summary>
    public const int PageMax = 200;

    private const int LimitMax = 100_000;

    public static readonly Option<int> Limit = new("--limit")
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

    /// <summary>Follows the pages until so many rows are there, or there are no more.</summary>
    /// <param name="gateway">Answers each page with its rows in a member, and the next page's cursor in next.</param>
    /// <param name="parsed">Has the limit and the filters.</param>
    /// <param name="member">The one with the rows.</param>
    /// <param name="path">Of the list.</param>
    /// <param name="filters">Options that choose rows.</param>
    public static async Task<Report> FollowAsync(
        GatewayClient gateway, ParseResult parsed, string member, string path, params Option<string>[] filters)
    {
        var limit = parsed.GetValue(Limit);
        var first = parsed.Query($"{path}?limit={Math.Min(limit, PageMax)}", filters);
        var all = new JsonArray();
        for (var next = first; ;)
        {
            var page = await gateway.GetAsync(next, member, "next");
            var (rows, left) = (page[member] as JsonArray ?? [], limit - all.Count);
            foreach (var row in rows.Take(left))
                all.Add(row?.DeepClone());
            var cursor = (string?)page["next"];
            if (cursor is null || all.Count == limit)
                return new Report(
                    all, Note: cursor is not null || rows.Count > left ? $"more follow: --limit is {limit}" : null);

            next = $"{first}&after={Uri.EscapeDataString(cursor)}";
        }
    }
}

using System.Globalization;
using System.Text.Json.Serialization;
using Microsoft.AspNetCore.Http.Features;
using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>
/// An operator's calls, with the admin token: GET /admin/parked in pages, POST /admin/parked/{id}/replay, and
/// POST /admin/parked/replay for all of them.
/// </summary>
internal static class ParkedEndpoints
{
    public const string ListPath = "/admin/parked";
    public const string ReplayAllPath = ListPath + "/replay";

    // nginx waits 3 s for an answer, and then asks the other instance.
    private static readonly TimeSpan ReplayWithin = TimeSpan.FromSeconds(2);

    /// <param name="admin">The group of an operator's calls, or of their page's.</param>
    /// <param name="path">Of the list; the others are below it.</param>
    public static void MapParked(this IEndpointRouteBuilder admin, string path = ListPath)
    {
        var parked = admin.ServiceProvider.GetRequiredService<ParkedStore>();
        var clock = admin.ServiceProvider.GetRequiredService<TimeProvider>();
        var limit = admin.ServiceProvider.GetRequiredService<QueryLimit>();
        admin.MapGet(path, context => ListAsync(context, parked, limit));
        admin.MapPost(path + "/replay", context => ReplayAllAsync(context, parked, clock));
        admin.MapPost(path + "/{id}/replay", context => ReplayAsync(context, parked));
    }

    private static async Task ListAsync(HttpContext context, ParkedStore parked, QueryLimit limit)
    {
        if (await ParkedQuery.ReadAsync(context, "reason", "after", "limit") is not { } query)
            return;

        // One more than is shown, to know whether another page follows.
        var (_, rows) = await limit.AskAsync<List<ParkedRow>>(
            async () => await parked.PageAsync(query.After, query.Reason, query.Limit + 1));
        if (rows is null)
        {
            await QueryLimit.RefuseAsync(context);
            return;
        }

        if (rows.Count > query.Limit)
        {
            rows.RemoveAt(query.Limit);
            context.Response.Headers.Link = $"<{context.Request.Path}{query.Following(rows[^1].Cursor)}>; rel=\"next\"";
        }

        await JsonAnswer.WriteAsync(
            context, rows.ConvertAll(row => new ParkedPayment(
                row.CorrelationId, Money.FromCents(row.AmountCents), row.AcceptedAt, row.ParkedAt, row.Reason)),
            ParkedJsonContext.Default.ListParkedPayment);
    }

    // A reason in a body would be ignored, and everything replayed, so a body is refused.
    // Page by page, each after the one before: what is parked again meanwhile is not replayed twice.
    private static async Task ReplayAllAsync(HttpContext context, ParkedStore parked, TimeProvider clock)
    {
        if (context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody)
        {
            await ProblemAnswer.WriteAsync(
                context, Problems.InvalidQuery, "This call takes no body; reason is a parameter of the query.");
            return;
        }

        if (await ParkedQuery.ReadAsync(context, "reason") is not { } query)
            return;

        var began = clock.GetTimestamp();
        var (replayed, complete) = (0, false);
        while (!complete && clock.GetElapsedTime(began) < ReplayWithin)
        {
            var page = await parked.ReplayPageAsync(query.After, query.Reason, query.Limit);
            replayed += page.Count;
            OperatorCalls.Tell(context, $"{replayed} replayed");
            complete = page.Count < query.Limit;
            if (!complete)
                query = query with { After = page.MaxBy(cursor => (cursor.AcceptedAt, cursor.Id))! };
        }

        context.Response.StatusCode = 202;
        await JsonAnswer.WriteAsync(
            context, new ParkedReplay(replayed, complete), ParkedJsonContext.Default.ParkedReplay);
    }

    private static async Task ReplayAsync(HttpContext context, ParkedStore parked)
    {
        if (!Guid.TryParseExact(context.Request.RouteValues["id"] as string, "D", out var id))
            await ProblemAnswer.WriteAsync(context, Problems.InvalidId, "id must be a UUID.", "id");
        else if (await parked.ReplayAsync(id))
            context.Response.StatusCode = 202;
        else
            await ProblemAnswer.WriteAsync(
                context, Problems.NotParked, "No parked payment has this correlationId.", "id");
    }
}

/// <summary>A parked payment as an operator sees it; times are UTC.</summary>
internal sealed record ParkedPayment(
    Guid CorrelationId, decimal Amount, DateTime AcceptedAt, DateTime? ParkedAt, string Reason);

/// <summary>How many were given back; not complete when the time was over before the last one.</summary>
internal sealed record ParkedReplay(int Replayed, bool Complete);

/// <summary>Which parked payments an operator means: of one reason or of any, after a cursor, so many.</summary>
internal sealed record ParkedQuery(string? Reason, PaymentCursor After, int Limit)
{
    private const int LimitMax = 1_000;

    /// <summary>Reads the parameters; what is wrong or unknown is answered with 400.</summary>
    /// <param name="context">The request.</param>
    /// <param name="known">Those that this call takes: a misspelt one would mean all.</param>
    /// <returns>Null when it was answered.</returns>
    public static async ValueTask<ParkedQuery?> ReadAsync(HttpContext context, params string[] known)
    {
        var query = new ParkedQuery(null, PaymentCursor.Start, LimitMax);
        foreach (var (name, values) in context.Request.Query)
        {
            var problem = "is no parameter of this call.";
            var next = known.Contains(name) ? query.With(name, values.ToArray(), out problem) : null;
            if (next is null)
            {
                await ProblemAnswer.WriteAsync(context, Problems.InvalidQuery, $"{name} {problem}", name);
                return null;
            }

            query = next;
        }

        return query;
    }

    /// <summary>The query string of the page after a cursor.</summary>
    public string Following(PaymentCursor last)
    {
        var micros = Timestamps.ToMicroseconds(last.AcceptedAt);
        var reason = Reason is null ? "" : $"&reason={Uri.EscapeDataString(Reason)}";
        return string.Create(CultureInfo.InvariantCulture, $"?after={micros}.{last.Id:N}&limit={Limit}{reason}");
    }

    private ParkedQuery? With(string name, string?[] values, out string problem)
    {
        problem = "must be given once, and not empty.";
        if (values is not [{ Length: > 0 } text])
            return null;

        switch (name)
        {
            case "reason":
                problem = "must be text without NUL.";
                return text.Contains('\0', StringComparison.Ordinal) ? null : this with { Reason = text };
            case "limit":
                problem = $"must be a whole number from 1 to {LimitMax}.";
                return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var limit)
                    && limit is >= 1 and <= LimitMax ? this with { Limit = limit } : null;
            default:
                problem = "must be as a Link of this list has it.";
                return TryReadCursor(text) is { } cursor ? this with { After = cursor } : null;
        }
    }

    private static PaymentCursor? TryReadCursor(string text)
    {
        var dot = text.IndexOf('.', StringComparison.Ordinal);
        return dot > 0
            && long.TryParse(text.AsSpan(0, dot), NumberStyles.None, CultureInfo.InvariantCulture, out var micros)
            && Timestamps.FromMicroseconds(micros) is { } acceptedAt
            && Guid.TryParseExact(text.AsSpan(dot + 1), "N", out var id)
            ? new PaymentCursor(acceptedAt, id)
            : null;
    }
}

/// <summary>The answers to an operator, for the serializer.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(List<ParkedPayment>))]
[JsonSerializable(typeof(ParkedReplay))]
internal sealed partial class ParkedJsonContext : JsonSerializerContext;

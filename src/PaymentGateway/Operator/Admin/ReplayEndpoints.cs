using Microsoft.AspNetCore.Http.Features;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// An operator's calls that release parked payments to be settled: POST /admin/parked/{id}/replay for one, and
/// POST /admin/parked/replay for all of them.
/// </summary>
internal static class ReplayEndpoints
{
    public const string ParkedPath = "/admin/parked";
    public const string AllPath = ParkedPath + "/replay";

    private const int PageMax = 1_000;

    // nginx waits 3 s for an answer, and then asks the other instance.
    private static readonly TimeSpan ReplayWithin = TimeSpan.FromSeconds(2);

    public static void MapReplays(this IEndpointRouteBuilder admin, string path = ParkedPath)
    {
        var parked = admin.ServiceProvider.GetRequiredService<ParkedStore>();
        var clock = admin.ServiceProvider.GetRequiredService<TimeProvider>();
        admin.MapPost(path + "/replay", context => ReplayAllAsync(context, parked, clock));
        admin.MapPost(path + "/{id}/replay", context => ReplayAsync(context, parked));
    }

    // A body is refused, because a reason in it would be ignored and everything replayed. Each page begins after the
    // one before, so that a payment that is parked again meanwhile is not replayed twice.
    private static async Task ReplayAllAsync(HttpContext context, ParkedStore parked, TimeProvider clock)
    {
        if (context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody)
        {
            await ProblemAnswer.WriteAsync(
                context, Problems.InvalidQuery, "This call takes no body; reason is a parameter of the query.");
            return;
        }

        var reader = new QueryReader(context);
        var reason = reader.Text("reason");
        if (await reader.AnswerFirstFaultAsync())
            return;

        var began = clock.GetTimestamp();
        var (after, replayed, complete) = (PaymentCursor.Start, 0, false);
        while (!complete && clock.GetElapsedTime(began) < ReplayWithin)
        {
            var page = await parked.ReplayPageAsync(after, reason, PageMax);
            replayed += page.Count;
            OperatorCalls.Tell(context, $"{replayed} replayed");
            complete = page.Count < PageMax;
            if (!complete)
                after = page.MaxBy(cursor => (cursor.AcceptedAt, cursor.Id))!;
        }

        context.Response.StatusCode = 202;
        await JsonAnswer.WriteAsync(
            context, new ReplayAnswer(replayed, complete), AdminJsonContext.Default.ReplayAnswer);
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

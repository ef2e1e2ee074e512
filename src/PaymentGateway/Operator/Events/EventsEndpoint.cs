using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Events;

/// <summary>
/// GET /events, an operator's call: settled, parked, replayed and corrected payments in order. A call may wait for one.
/// </summary>
internal sealed class EventsEndpoint(
    EventStore events, QueryLimit permits, IHostApplicationLifetime life, TimeProvider clock)
{
    public const string Path = "/events";

    private const int WaitSecondsMax = 30;
    private const int ReadersMax = 16;

    private static readonly TimeSpan QueryInterval = TimeSpan.FromSeconds(0.5);

    private int _readers;

    public async Task AnswerAsync(HttpContext context)
    {
        var reader = new QueryReader(context);
        var after = reader.After(EventCursor.TryRead);
        var limit = reader.Limit();
        var wait = reader.Value(
            "wait", $"a whole number of seconds from 0 to {WaitSecondsMax}",
            static text => int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)
                && seconds <= WaitSecondsMax ? seconds : (int?)null) ?? 0;
        if (await reader.AnswerFirstFaultAsync())
            return;

        try
        {
            await (Interlocked.Increment(ref _readers) > ReadersMax
                ? ProblemAnswer.WriteAsync(
                    context, Problems.Overloaded, "Too many readers of events wait. Ask again.", null, 1)
                : FollowAsync(context, after, limit, TimeSpan.FromSeconds(wait)));
        }
        finally
        {
            Interlocked.Decrement(ref _readers);
        }
    }

    private async Task FollowAsync(HttpContext context, EventCursor? after, int limit, TimeSpan wait)
    {
        var began = clock.GetTimestamp();
        using var end = CancellationTokenSource.CreateLinkedTokenSource(
            context.RequestAborted, life.ApplicationStopping);
        for (var isAnswered = false; !isAnswered;)
        {
            // A stop of the instance ends the wait with an empty page.
            var remaining = end.IsCancellationRequested ? TimeSpan.Zero : wait - clock.GetElapsedTime(began);
            isAnswered = true;
            await permits.AnswerAsync(context, () => events.PageAsync(after, limit), page =>
            {
                if (page is not { Events.Count: 0 } || remaining <= TimeSpan.Zero)
                    return WriteAsync(context, page);

                (isAnswered, after) = (false, page.Next);
                return Task.CompletedTask;
            });
            if (!isAnswered)
                await Task.WhenAny(Task.Delay(remaining < QueryInterval ? remaining : QueryInterval, clock, end.Token));
        }
    }

    private static Task WriteAsync(HttpContext context, EventPage? page) => page is null
        ? ProblemAnswer.WriteAsync(
            context, Problems.EventsGone, "Events after this position were deleted. Begin without after.", "after")
        : JsonAnswer.WriteAsync(
            context, new EventList(page.Events.ConvertAll(EventAnswer.Of), $"{page.Next}"),
            EventJsonContext.Default.EventList);
}

/// <summary>Registers and maps the feed of events.</summary>
internal static class EventsSetup
{
    public static void AddEvents(this IServiceCollection services)
    {
        services.AddSingleton<EventStore>();
        services.AddSingleton<EventsEndpoint>();
    }

    public static void MapEvents(this IEndpointRouteBuilder admin) => admin.MapGet(
        EventsEndpoint.Path, admin.ServiceProvider.GetRequiredService<EventsEndpoint>().AnswerAsync);
}

/// <summary>A page of events; Next is the position after it, also at the end.</summary>
internal sealed record EventList(List<EventAnswer> Events, string Next);

/// <summary>
/// An event as a reader sees it (contract.md, GET /events). Times are UTC; members that do not apply are left out.
/// </summary>
/// <param name="Id">
/// Of the payment, the kind and the time, so that an event that comes again has it again, from a restored ledger too.
/// </param>
/// <param name="Position">Where to go on after it; null of a test event.</param>
internal sealed record EventAnswer(
    string Id, string? Position, string Type, DateTime OccurredAt, Guid CorrelationId, decimal Amount,
    string? Processor, DateTime AcceptedAt, DateTime? RequestedAt, string? ParkedReason,
    string? Payer = null)
{
    public static EventAnswer Of(EventRow row) => new(
        $"{row.CorrelationId:N}-{row.Kind}-{(row.OccurredAt!.Value - DateTime.UnixEpoch).Ticks / 10}", $"{row.Cursor}",
        $"payment.{row.Kind}", row.OccurredAt.Value, row.CorrelationId!.Value,
        Money.FromCents(row.AmountCents!.Value), row.Processor, row.AcceptedAt!.Value, row.RequestedAt, row.Reason,
        row.Payer);
}

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(EventList))]
internal sealed partial class EventJsonContext : JsonSerializerContext;

using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Operator.Events;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Webhooks;

/// <summary>
/// Delivers the feed to each endpoint, in order and at least once. One instance holds an endpoint at a time; each
/// endpoint has a loop of its own, so none delays another.
/// </summary>
internal sealed partial class WebhookWorker(
    WebhookStore store, EventStore events, WebhookClient client, IReadOnlyList<WebhookOptions> endpoints,
    GatewayOptions options, TimeProvider clock, ILogger<WebhookWorker> log) : BackgroundService
{
    private const int PageMax = 50;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    // Long enough: an event takes one call at most, and the position is stored after each slow one.
    private static readonly TimeSpan HeldFor = WebhookClient.CallTimeout * 3;

    private readonly Random _jitter = new(Environment.ProcessId);

    /// <summary>How long the longest failing endpoint has failed; null where none is configured.</summary>
    public double? FailingSeconds { get; private set; }

    /// <summary>Age of the oldest event that an endpoint has not got; null where none is configured.</summary>
    public double? OldestSeconds { get; private set; }

    /// <summary>Full jitter: any time up to a second, doubled with each failure, an hour at most.</summary>
    /// <param name="failures">In a row, from 1.</param>
    /// <param name="chance">From 0 to 1.</param>
    public static TimeSpan BackoffOf(int failures, double chance) =>
        chance * (failures > 12 ? WebhookStore.PauseMax : TimeSpan.FromSeconds(1 << (failures - 1)));

    protected override Task ExecuteAsync(CancellationToken stoppingToken) => endpoints.Count == 0
        ? Task.CompletedTask
        : Task.WhenAll(endpoints.Select(one => FollowAsync(one, stoppingToken))
            .Append(RepeatAsync("list", WatchAsync, stoppingToken)));

    private async Task WatchAsync()
    {
        var rows = (await store.ListAsync())
            .FindAll(row => endpoints.Any(one => one.Name == row.Name) && row.Position is not null);
        FailingSeconds = rows.Max(row => row.FailingSeconds) ?? 0;
        var positions = rows.ConvertAll(row => EventCursor.TryRead(row.Position!));
        OldestSeconds = rows.Count == 0 ? 0 : await events.AgeAsync(positions.Contains(null)
            ? null
            : positions.MinBy(at => (at!.Generation, at.Resets, at.Transaction, at.Id)));
    }

    private Task FollowAsync(WebhookOptions endpoint, CancellationToken stopping)
    {
        var isAdded = false;
        return RepeatAsync(
            endpoint.Name,
            async () =>
            {
                if (!isAdded)
                    await store.AddAsync(endpoint.Name);
                isAdded = true;
                var held = new WebhookArgs(endpoint.Name, $"{options.Instance.Name} {Guid.NewGuid()}", HeldFor);
                var askedAt = clock.GetTimestamp();
                if (await store.TakeAsync(held) is not { } taken)
                    return;

                try
                {
                    await DeliverAsync(endpoint, held, taken, askedAt, stopping);
                }
                finally
                {
                    // Another instance goes on at once, and repeats a page at most. The limit is for a silent database.
                    if (stopping.IsCancellationRequested)
                        await store.ReleaseAsync(held).WaitAsync(Interval, clock);
                }
            },
            stopping);
    }

    private Task RepeatAsync(string name, Func<Task> workAsync, CancellationToken stopping) =>
        new OutageLog().RepeatAsync(
            workAsync, Interval,
            (level, reason) =>
            {
                // Another instance repeats what a stop interrupts.
                if (!stopping.IsCancellationRequested)
                    Log.Broken(log, level, name, reason);
            },
            clock, stopping);

    // Ends when a delivery fails, or another instance holds the endpoint.
    private async Task DeliverAsync(
        WebhookOptions endpoint, WebhookArgs held, TakenWebhookRow taken, long heldAt, CancellationToken stopping)
    {
        var after = EventCursor.TryRead(taken.Position ?? "");
        // A new endpoint gets events from now on, even if this instance stops before the first one.
        if (taken.Position is null && !await KeepAsync((await events.PageAsync(null, 0))!.Next))
            return;
        var failures = taken.Failures;
        while (true)
        {
            var page = await events.PageAsync(after, PageMax);
            if (page is null)
            {
                Log.Gone(log, endpoint.Name, $"{after}");
                after = null;
                await Task.Delay(Interval, clock, stopping);
                continue;
            }

            foreach (var row in page.Events)
            {
                if (clock.GetElapsedTime(heldAt) >= WebhookClient.CallTimeout && !await KeepAsync(after))
                    return;

                var one = EventAnswer.Of(row);
                if (endpoint.WantedTypes.Contains(one.Type)
                    && await client.SendAsync(endpoint, one, stopping) is { } failed)
                {
                    await FailAsync(held with
                    {
                        Position = $"{after}",
                        Failures = ++failures,
                        Failure = failed.Reason,
                        For = failed.RetryAfter,
                    });
                    return;
                }

                (after, failures) = (row.Cursor, 0);
            }

            if (!await KeepAsync(page.Next))
                return;
            if (page.Events.Count == 0)
                await Task.Delay(Interval, clock, stopping);
        }

        async Task<bool> KeepAsync(EventCursor? position)
        {
            (after, heldAt) = (position, clock.GetTimestamp());
            return await store.KeepAsync(held with { Position = $"{after}" });
        }
    }

    private async Task FailAsync(WebhookArgs failed)
    {
        TimeSpan delay;
        lock (_jitter)
            delay = BackoffOf(failed.Failures, _jitter.NextDouble());
        if (delay < failed.For)
            delay = failed.For < WebhookStore.PauseMax ? failed.For : WebhookStore.PauseMax;
        if (failed.Failures == 1)
            Log.Failed(log, failed.Name, failed.Failure!);
        await store.FailAsync(failed with { For = delay });
    }

    private static partial class Log
    {
        [LoggerMessage(240, LogLevel.Warning, "Failed to deliver to the webhook {Name}, trying again: {Reason}")]
        public static partial void Failed(ILogger log, string name, string reason);

        [LoggerMessage(241, LogLevel.Warning,
            "The webhook {Name} begins with the oldest event, because events after {Position} were deleted")]
        public static partial void Gone(ILogger log, string name, string position);

        [LoggerMessage(EventId = 242, Message = "Events for the webhook {Name} wait for PostgreSQL: {Reason}")]
        public static partial void Broken(ILogger log, LogLevel level, string name, string reason);
    }
}

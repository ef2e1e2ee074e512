using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Operator.Events;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Webhooks;

/// <summary>
/// An operator's calls: GET /admin/webhooks lists the endpoints, POST …/{name}/replay delivers the events after a
/// position again, and POST …/{name}/test sends one event that is no payment's.
/// </summary>
internal static class WebhookEndpoints
{
    public const string Path = "/admin/webhooks";

    // nginx and the verb wait little longer.
    private static readonly TimeSpan TestWithin = TimeSpan.FromSeconds(2);

    public static void AddWebhooks(this IServiceCollection services, SettingsReader settings)
    {
        services.AddSingleton(WebhookOptions.Read(settings));
        services.AddSingleton<WebhookStore>();
        services.AddSingleton<WebhookClient>();
        services.AddSingleton<WebhookWorker>();
    }

    /// <summary>Maps the calls, and adds the gauges of the deliveries.</summary>
    public static void MapWebhooks(this IEndpointRouteBuilder admin)
    {
        var store = admin.ServiceProvider.GetRequiredService<WebhookStore>();
        var client = admin.ServiceProvider.GetRequiredService<WebhookClient>();
        var endpoints = admin.ServiceProvider.GetRequiredService<IReadOnlyList<WebhookOptions>>();
        var clock = admin.ServiceProvider.GetRequiredService<TimeProvider>();
        var worker = admin.ServiceProvider.GetRequiredService<WebhookWorker>();
        var metrics = admin.ServiceProvider.GetRequiredService<GatewayMetrics>();
        metrics.AddGauge("webhooks.failing", "s", "How long the webhook that has failed for longest has failed.",
            () => worker.FailingSeconds);
        metrics.AddGauge("webhooks.age", "s", "Age of the oldest event that a webhook has not got.",
            () => worker.OldestSeconds);
        admin.MapGet(Path, async context => await JsonAnswer.WriteAsync(
            context, new WebhookList(await store.ListAsync()), WebhookJsonContext.Default.WebhookList));
        admin.MapPost(Path + "/{name}/replay", context => ReplayAsync(context, store, endpoints));
        admin.MapPost(Path + "/{name}/test", context => TestAsync(context, client, endpoints, clock));
    }

    private static async Task ReplayAsync(
        HttpContext context, WebhookStore store, IReadOnlyList<WebhookOptions> endpoints)
    {
        var reader = new QueryReader(context);
        var after = reader.After(EventCursor.TryRead);
        if (await reader.AnswerFirstFaultAsync())
            return;

        if (Find(context, endpoints) is { } endpoint && await store.ReplayAsync(endpoint.Name, $"{after}"))
            context.Response.StatusCode = 202;
        else
            await RefuseAsync(context);
    }

    private static async Task TestAsync(
        HttpContext context, WebhookClient client, IReadOnlyList<WebhookOptions> endpoints, TimeProvider clock)
    {
        if (Find(context, endpoints) is not { } endpoint)
        {
            await RefuseAsync(context);
            return;
        }

        var now = Timestamps.Truncate(clock.GetUtcNow().UtcDateTime);
        var failure = await client.SendAsync(
            endpoint,
            new EventAnswer(
                $"test-{Guid.NewGuid():N}", null, "webhook.test", now, Guid.Empty, 0, null, now, null, null),
            context.RequestAborted, TestWithin);
        await JsonAnswer.WriteAsync(
            context, new TestAnswer(failure is null, failure?.Reason), WebhookJsonContext.Default.TestAnswer);
    }

    private static WebhookOptions? Find(HttpContext context, IReadOnlyList<WebhookOptions> endpoints) =>
        endpoints.FirstOrDefault(one => one.Name.Equals(
            (string?)context.Request.RouteValues["name"], StringComparison.OrdinalIgnoreCase));

    private static Task RefuseAsync(HttpContext context) => ProblemAnswer.WriteAsync(
        context, Problems.WebhookNotFound, "No endpoint of Gateway__Webhooks has this name.", "name");
}

internal sealed record WebhookList(List<WebhookRow> Webhooks);

/// <summary>Whether the endpoint accepted a test event, and why not.</summary>
internal sealed record TestAnswer(bool Delivered, string? Failure);

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(WebhookList))]
[JsonSerializable(typeof(TestAnswer))]
internal sealed partial class WebhookJsonContext : JsonSerializerContext;

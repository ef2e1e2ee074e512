using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;

namespace PaymentGateway.Tests.Support;

/// <summary>A call of a webhook, and the status that it was answered with.</summary>
internal sealed record ReceivedWebhook(
    string Path, string Id, string Timestamp, string Signature, byte[] Body, int Status)
{
    public JsonElement Event => JsonDocument.Parse(Body).RootElement;
}

/// <summary>Endpoints of webhooks, one at each path; a test says how calls are answered.</summary>
internal sealed class WebhookReceiver : IAsyncDisposable
{
    /// <summary>An answer that never comes.</summary>
    public const int Silence = 0;

    private readonly ConcurrentQueue<ReceivedWebhook> _calls = new();
    private readonly ConcurrentDictionary<string, ConcurrentQueue<int>> _faults = new();
    private readonly WebApplication _app;

    private WebhookReceiver(WebApplication app)
    {
        _app = app;
        app.Run(async context =>
        {
            using var body = new MemoryStream();
            await context.Request.Body.CopyToAsync(body);
            var path = context.Request.Path.Value!;
            var status = FaultsOf(path).TryDequeue(out var fault) ? fault : Status;
            var headers = context.Request.Headers;
            UserAgent = headers.UserAgent;
            _calls.Enqueue(new ReceivedWebhook(
                path, $"{headers["webhook-id"]}", $"{headers["webhook-timestamp"]}", $"{headers["webhook-signature"]}",
                body.ToArray(), status));
            if (status == Silence)
                await Task.Delay(Timeout.InfiniteTimeSpan, context.RequestAborted);
            context.Response.StatusCode = status;
            context.Response.Headers.Location = "/elsewhere";
            context.Response.Headers.RetryAfter = RetryAfter;
        });
    }

    public string Url => _app.Urls.Single();

    /// <summary>Of the latest call.</summary>
    public string? UserAgent { get; private set; }

    /// <summary>The answer to calls that no fault is for.</summary>
    public int Status { get; set; } = 200;

    public string? RetryAfter { get; set; }

    public static async Task<WebhookReceiver> StartAsync()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Logging.ClearProviders();
        var receiver = new WebhookReceiver(builder.Build());
        await receiver._app.StartAsync();
        return receiver;
    }

    public ConcurrentQueue<int> FaultsOf(string path) => _faults.GetOrAdd(path, _ => new());

    public List<ReceivedWebhook> CallsOf(string path) => _calls.Where(call => call.Path == path).ToList();

    public ValueTask DisposeAsync() => _app.DisposeAsync();
}

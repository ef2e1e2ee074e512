using System.Collections.Concurrent;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace PaymentGateway.Tests.Support;

/// <summary>Takes what is sent to it by OTLP over HTTP, and finds names and traces in it.</summary>
internal sealed class OtlpReceiver : IAsyncDisposable
{
    private readonly ConcurrentQueue<(string Path, byte[] Body)> _received = new();
    private readonly WebApplication _app;

    private OtlpReceiver(WebApplication app)
    {
        _app = app;
        app.Run(async context =>
        {
            using var body = new MemoryStream();
            await context.Request.Body.CopyToAsync(body);
            _received.Enqueue((context.Request.Path, body.ToArray()));
        });
    }

    public string BaseAddress => _app.Urls.Single();

    public static async Task<OtlpReceiver> StartAsync()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        var receiver = new OtlpReceiver(builder.Build());
        await receiver._app.StartAsync();
        return receiver;
    }

    /// <summary>Whether a span of this name has come.</summary>
    public bool HasSpan(string name) =>
        // Field 5 of a span, with its length (opentelemetry-proto, trace.proto).
        Count("/v1/traces", [0x2A, (byte)name.Length, .. Encoding.UTF8.GetBytes(name)]) > 0;

    /// <summary>How many spans of this trace have come.</summary>
    public int CountSpansOf(string traceId) =>
        // Field 1 of a span.
        Count("/v1/traces", [0x0A, 16, .. Convert.FromHexString(traceId)]);

    /// <summary>Whether an instrument of this name has come.</summary>
    public bool HasMetric(string name) =>
        // Field 1 of a metric.
        Count("/v1/metrics", [0x0A, (byte)name.Length, .. Encoding.UTF8.GetBytes(name)]) > 0;

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    private int Count(string path, byte[] sought) => _received.Where(one => one.Path == path).Sum(one =>
    {
        var count = 0;
        var rest = one.Body.AsSpan();
        for (var at = rest.IndexOf(sought); at >= 0; at = rest.IndexOf(sought))
        {
            count++;
            rest = rest[(at + sought.Length)..];
        }

        return count;
    });
}

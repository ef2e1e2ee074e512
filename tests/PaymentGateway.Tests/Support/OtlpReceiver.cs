using System.Buffers.Binary;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace PaymentGateway.Tests.Support;

/// <summary>Takes what is sent to it by OTLP, over HTTP or by gRPC, and finds names and traces in it.</summary>
internal sealed class OtlpReceiver : IAsyncDisposable
{
    private static readonly string[] Traces =
        ["/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"];
    private static readonly string[] Metrics =
        ["/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"];

    private readonly ConcurrentQueue<(string Path, byte[] Message)> _received = new();
    private readonly WebApplication _app;

    private OtlpReceiver(WebApplication app)
    {
        _app = app;
        app.Run(async context =>
        {
            using var body = new MemoryStream();
            await context.Request.Body.CopyToAsync(body);
            var isGrpc = context.Request.ContentType == "application/grpc";
            _received.Enqueue((context.Request.Path, isGrpc ? Unframe(body.ToArray()) : body.ToArray()));
            if (isGrpc)
                await AnswerGrpcAsync(context.Response);
        });
    }

    public string BaseAddress => _app.Urls.Single();

    /// <param name="protocol">HTTP/2 is for gRPC: without TLS an endpoint has either.</param>
    public static async Task<OtlpReceiver> StartAsync(HttpProtocols protocol)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(
            IPAddress.Loopback, 0, listen => listen.Protocols = protocol));
        builder.Logging.ClearProviders();
        var receiver = new OtlpReceiver(builder.Build());
        await receiver._app.StartAsync();
        return receiver;
    }

    public bool HasSpan(string name) =>
        // Field 5 of a span, with its length (opentelemetry-proto, trace.proto).
        Count(Traces, [0x2A, (byte)name.Length, .. Encoding.UTF8.GetBytes(name)]) > 0;

    public int CountSpansOf(string traceId) =>
        // Field 1 of a span.
        Count(Traces, [0x0A, 16, .. Convert.FromHexString(traceId)]);

    public bool HasMetric(string name) =>
        // Field 1 of a metric.
        Count(Metrics, [0x0A, (byte)name.Length, .. Encoding.UTF8.GetBytes(name)]) > 0;

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    // One message: not compressed, and its length.
    private static byte[] Unframe(byte[] body) =>
        body[0] == 0 && BinaryPrimitives.ReadInt32BigEndian(body.AsSpan(1)) == body.Length - 5
            ? body[5..]
            : throw new InvalidDataException("This is not one message of gRPC.");

    private static async Task AnswerGrpcAsync(HttpResponse answer)
    {
        answer.ContentType = "application/grpc";
        // An empty message, and that it went well.
        await answer.Body.WriteAsync(new byte[5]);
        answer.AppendTrailer("grpc-status", "0");
    }

    private int Count(string[] paths, byte[] sought) => _received.Where(one => paths.Contains(one.Path))
        .Sum(one => Encoding.Latin1.GetString(one.Message).Split(Encoding.Latin1.GetString(sought)).Length - 1);
}

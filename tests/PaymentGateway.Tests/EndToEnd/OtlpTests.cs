using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The published binary sends metrics and traces by OTLP, and the trace to the processor.</summary>
public sealed class OtlpTests
{
    // Docker kills after 10 s where nothing else is said.
    private static readonly TimeSpan StopMax = TimeSpan.FromSeconds(5);

    // Without OTEL_EXPORTER_OTLP_PROTOCOL it is gRPC, which needs HTTP/2.
    [GatewaySystemTheory]
    [InlineData("http/protobuf", HttpProtocols.Http1)]
    [InlineData("grpc", HttpProtocols.Http2)]
    [InlineData(null, HttpProtocols.Http2)]
    public async Task A_payments_trace_shows_each_stage_and_reaches_the_processor(
        string? protocol, HttpProtocols needed)
    {
        await using var receiver = await OtlpReceiver.StartAsync(needed);
        await using var simulator = await SimulatedProcessor.StartAsync();
        await using var front = ProcessorFront.Open(simulator.BaseAddress);
        (string, string)[] said = protocol is null ? [] : [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
        await using var system = await GatewaySystem.UpAsync(
        [
            ("DEFAULT_URL", front.BaseAddress.AbsoluteUri), ("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.BaseAddress),
            ("OTEL_METRIC_EXPORT_INTERVAL", "500"), ("OTEL_BSP_SCHEDULE_DELAY", "200"), .. said,
        ]);

        var traceId = await PayAsync(system);

        foreach (var stage in new[] { "store", "queue", "charge", "record" })
            await Eventually.HoldsAsync(() => receiver.HasSpan(stage), $"the span {stage} has come");
        // The request itself is the fifth.
        await Eventually.HoldsAsync(() => receiver.CountSpansOf(traceId) == 5, "five spans are of the payment's trace");
        await Eventually.HoldsAsync(
            () => receiver.HasMetric("payment_gateway.payments.accepted")
                && receiver.HasMetric("payment_gateway.backlog.age")
                && receiver.HasMetric("http.server.request.duration"),
            "metrics have come");
        Assert.Contains($"traceparent: 00-{traceId}-", front.Heard, StringComparison.Ordinal);
        Assert.False(receiver.HasMetric("db.client.commands.duration"));
    }

    // The drain of an idle instance is short; the exporters' own limits are 5 s each, one after the other.
    [GatewaySystemFact]
    public async Task A_receiver_that_never_answers_delays_a_stop_by_two_seconds()
    {
        using var mute = new TcpListener(IPAddress.Loopback, 0);
        mute.Start();
        await using var system = await GatewaySystem.UpAsync();
        await system.StopAsync(GatewaySystem.First);
        var settings = system.ChildSettings(GatewaySystem.First);
        settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = $"http://{mute.LocalEndpoint}";
        settings["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf";
        await using var instance = GatewaySystemInstance.Start(settings);
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(system.Api1), "the instance is ready");
        await PayAsync(system);

        instance.Terminate();

        await InTime.EndsAsync(StopMax, instance.EndAsync(TimeSpan.FromMinutes(1)), "a stop");
    }

    /// <returns>The trace that the client of the payment has begun.</returns>
    private static async Task<string> PayAsync(GatewaySystem system)
    {
        var traceId = "";
        // After a 503 it is another payment: the first one may be stored all the same, with the first trace.
        var (status, _) = await Eventually.AnswersAsync(async () =>
        {
            traceId = Guid.NewGuid().ToString("N");
            using var payment = new HttpRequestMessage(HttpMethod.Post, "payments");
            payment.Content = JsonContent.Create(new { correlationId = Guid.NewGuid(), amount = 19.90m });
            payment.Headers.Add("traceparent", $"00-{traceId}-00f067aa0ba902b7-01");
            return await system.Client.SendAsync(payment);
        });
        Assert.Equal(HttpStatusCode.Accepted, status);
        return traceId;
    }
}

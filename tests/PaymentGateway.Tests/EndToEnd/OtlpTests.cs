using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// The published binary sends metrics and traces by OTLP, and the trace to the processor and into its log.
/// </summary>
public sealed class OtlpTests
{
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

        var (_, traceId) = await PayAsync(system);

        foreach (var stage in new[] { "store", "queue", "charge", "record" })
            await Eventually.HoldsAsync(() => receiver.HasSpan(stage), $"the span {stage} has come");
        // The request itself is the fifth.
        await Eventually.HoldsAsync(() => receiver.CountSpansOf(traceId) == 5, "five spans are of the payment's trace");
        await Eventually.HoldsAsync(
            () => receiver.HasMetric("payment_gateway.payments.accepted")
                && receiver.HasMetric("payment_gateway.backlog.age"),
            "metrics have come");
        Assert.Contains($"traceparent: 00-{traceId}-", front.Heard, StringComparison.Ordinal);
        Assert.False(receiver.HasMetric("db.client.commands.duration"));
    }

    [GatewaySystemFact]
    public async Task Each_line_of_a_payment_names_the_trace_of_its_request_and_a_span_that_was_sent()
    {
        await using var receiver = await OtlpReceiver.StartAsync(HttpProtocols.Http2);
        await using var system = await GatewaySystem.UpAsync(
            ("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.BaseAddress), ("OTEL_BSP_SCHEDULE_DELAY", "200"),
            ("Gateway__Logging__Format", "Json"), ("Logging__LogLevel__Default", "Debug"));
        // The first statements are slow.
        await PayAsync(system);

        await TracedAsync(StoreAsync, "InDoubt", "AmountDiffers", "Resolved");
        await system.Default.SetFaultsAsync(new { tooMany = true, times = 1 });
        await TracedAsync(null, "Refused");
        await system.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
        await TracedAsync(null, "InDoubt", "Resolved");
        await system.Default.SetFaultsAsync(new { status = 400, times = 1 });
        await TracedAsync(null, "Parked");

        // The processor has it already, with another amount.
        async Task StoreAsync(Guid id)
        {
            using var charge = await system.Default.Client.PostAsJsonAsync(
                "payments", new { correlationId = id, amount = 1, requestedAt = DateTime.UtcNow });
            charge.EnsureSuccessStatusCode();
        }

        async Task TracedAsync(Func<Guid, Task>? prepareAsync, params string[] events)
        {
            var (id, traceId) = await PayAsync(system, prepareAsync);
            List<JsonElement> lines = [];
            await Eventually.HoldsAsync(
                () => (lines = LinesOf(system, id)).Count >= events.Length, $"the log tells of {events[^1]}");

            Assert.Equal(events, lines.ConvertAll(line => line.GetProperty("event").GetString()!));
            Assert.All(lines, line => Assert.Equal(traceId, line.GetProperty("traceId").GetString()));
            var spanId = lines[0].GetProperty("spanId").GetString()!;
            await Eventually.HoldsAsync(() => receiver.HasSpanOf(spanId), $"the span {spanId} has come");
            await Eventually.HoldsAsync(system.IsIdleAsync, "the next fault hits the next payment");
        }
    }

    /// <returns>The payment, and the trace that its client has begun.</returns>
    private static async Task<(Guid Id, string TraceId)> PayAsync(
        GatewaySystem system, Func<Guid, Task>? prepareAsync = null)
    {
        (Guid Id, string TraceId) paid = default;
        // After a 503 it is another payment: the first one may be stored all the same, with the first trace.
        var (status, _) = await Eventually.AnswersAsync(async () =>
        {
            paid = (Guid.NewGuid(), Guid.NewGuid().ToString("N"));
            await (prepareAsync?.Invoke(paid.Id) ?? Task.CompletedTask);
            using var payment = new HttpRequestMessage(HttpMethod.Post, "payments");
            payment.Content = JsonContent.Create(new { correlationId = paid.Id, amount = 19.90m });
            payment.Headers.Add("traceparent", $"00-{paid.TraceId}-00f067aa0ba902b7-01");
            return await system.Client.SendAsync(payment);
        });
        Assert.Equal(HttpStatusCode.Accepted, status);
        return paid;
    }

    // A payment's are of one instance. A line without an end is still being written.
    private static List<JsonElement> LinesOf(GatewaySystem system, Guid id) =>
        new[] { GatewaySystem.First, GatewaySystem.Second }
            .SelectMany(part => system.ReadLog(part).Split('\n')[..^1])
            .Where(line => line.StartsWith('{') && line.Contains($"\"{id}\"", StringComparison.Ordinal))
            .Select(line => JsonDocument.Parse(line).RootElement).ToList();
}

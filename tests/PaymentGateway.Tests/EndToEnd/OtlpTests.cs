using System.Net.Http.Json;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The published binary sends metrics and traces by OTLP, and the trace to the processor.</summary>
public sealed class OtlpTests
{
    private const string TraceId = "4bf92f3577b34da6a3ce929d0e0e4736";

    [GatewaySystemFact]
    public async Task A_payments_trace_shows_each_stage_and_reaches_the_processor()
    {
        await using var receiver = await OtlpReceiver.StartAsync();
        await using var simulator = await SimulatedProcessor.StartAsync();
        await using var front = ProcessorFront.Open(simulator.BaseAddress);
        await using var system = await GatewaySystem.UpAsync(
            ("DEFAULT_URL", front.BaseAddress.AbsoluteUri), ("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.BaseAddress),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"), ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
            ("OTEL_BSP_SCHEDULE_DELAY", "200"));

        using var payment = new HttpRequestMessage(HttpMethod.Post, "payments");
        payment.Content = JsonContent.Create(new { correlationId = Guid.NewGuid(), amount = 19.90m });
        payment.Headers.Add("traceparent", $"00-{TraceId}-00f067aa0ba902b7-01");
        using var answer = await system.Client.SendAsync(payment);
        answer.EnsureSuccessStatusCode();

        foreach (var stage in new[] { "store", "queue", "charge", "record" })
            await Eventually.HoldsAsync(() => receiver.HasSpan(stage), $"the span {stage} has come");
        // The request itself is the fifth.
        await Eventually.HoldsAsync(() => receiver.CountSpansOf(TraceId) == 5, "five spans are of the payment's trace");
        await Eventually.HoldsAsync(
            () => receiver.HasMetric("payment_gateway.payments.accepted")
                && receiver.HasMetric("payment_gateway.backlog.age"),
            "metrics have come");
        Assert.Contains($"traceparent: 00-{TraceId}-", front.Heard, StringComparison.Ordinal);
        Assert.False(receiver.HasMetric("db.client.commands.duration"));
    }
}

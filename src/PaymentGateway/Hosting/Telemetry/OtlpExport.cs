using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;

namespace PaymentGateway.Hosting.Telemetry;

/// <summary>Metrics and traces by OTLP; nothing of it runs without an endpoint (docs/metrics.md).</summary>
internal static class OtlpExport
{
    private const string Endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

    // Makes a span of each request, with the trace that its client sent.
    private const string Requests = "Microsoft.AspNetCore";

    // http.server.request.duration and http.server.active_requests: stock dashboards of ASP.NET show them.
    private const string RequestMeter = "Microsoft.AspNetCore.Hosting";

    private const int LastLimitMilliseconds = 2_000;

    public static void AddOtlpExport(
        this IServiceCollection services, IConfiguration configuration, GatewayOptions options)
    {
        if (string.IsNullOrWhiteSpace(configuration[Endpoint]))
            return;

        services.AddOpenTelemetry()
            .ConfigureResource(resource => resource.AddService(
                "payment-gateway", autoGenerateServiceInstanceId: false, serviceInstanceId: options.Instance.Name))
            .WithMetrics(metrics => metrics.AddMeter(GatewayMetrics.MeterName, MetricListener.Npgsql, RequestMeter)
                .AddView(ViewOf).AddOtlpExporter())
            .WithTracing(traces => traces.AddSource(PaymentTrace.SourceName, Requests).AddOtlpExporter());
    }

    /// <summary>
    /// Sends the last metrics and traces; for when every part has stopped. The providers would do so when they are
    /// disposed, one after the other with 5 s each, while a receiver that never answers must not delay a stop.
    /// </summary>
    public static Task SendLastAsync(IServiceProvider services) =>
        services.GetService<MeterProvider>() is { } metrics && services.GetService<TracerProvider>() is { } traces
            ? Task.WhenAll(
                Task.Run(() => metrics.Shutdown(LastLimitMilliseconds)),
                Task.Run(() => traces.Shutdown(LastLimitMilliseconds)))
            : Task.CompletedTask;

    // The instruments and buckets are those of Prometheus' format.
    private static MetricStreamConfiguration? ViewOf(Instrument instrument)
    {
        if (instrument.Meter.Name == MetricListener.Npgsql && !MetricListener.IsOfPools(instrument))
            return MetricStreamConfiguration.Drop;

        var bounds = MeasuredInstrument.BoundsOf(instrument);
        return bounds.Length == 0 ? null : new ExplicitBucketHistogramConfiguration { Boundaries = bounds };
    }
}

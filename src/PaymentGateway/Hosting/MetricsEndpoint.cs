using PaymentGateway.Http;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Hosting;

/// <summary>GET /metrics, an operator's call: this instance in Prometheus' text format (docs/metrics.md).</summary>
internal static class MetricsEndpoint
{
    public const string Path = "/metrics";

    /// <param name="admin">The group of an operator's calls.</param>
    public static void MapMetrics(this IEndpointRouteBuilder admin)
    {
        var metrics = admin.ServiceProvider.GetRequiredService<GatewayMetrics>();
        var reader = admin.ServiceProvider.GetRequiredService<MetricListener>();
        metrics.BeginAtZero();
        metrics.Meter.AddStateGauges(admin.ServiceProvider.GetRequiredService<GatewayState>());
        metrics.Meter.AddRuntimeGauges();
        admin.MapGetAndHead(Path, context =>
        {
            context.Response.ContentType = PrometheusText.ContentType;
            return context.Response.WriteAsync(reader.Write());
        });
    }
}

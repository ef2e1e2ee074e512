using System.Collections.Concurrent;

namespace PaymentGateway.Hosting.Telemetry;

/// <summary>Keeps the measurements of this instance's meter, and of Npgsql's pools. Safe from any thread.</summary>
internal sealed class MetricListener : IDisposable
{
    public const string Npgsql = "Npgsql";

    // Npgsql's other instruments would cost time in every statement.
    private static readonly string[] OfNpgsql =
    [
        "db.client.connections.usage", "db.client.connections.max", "db.client.connections.pending_requests",
        "db.client.connections.timeouts",
    ];

    private readonly object _writing = new();
    private readonly MeterListener _listener = new();

    public MetricListener(GatewayMetrics metrics)
    {
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter != metrics.Meter && !IsOfPools(instrument))
                return;

            var measured = new MeasuredInstrument(instrument);
            Instruments.Enqueue(measured);
            listener.EnableMeasurementEvents(instrument, measured);
        };
        _listener.SetMeasurementEventCallback<int>(
            static (_, value, tags, state) => ((MeasuredInstrument)state!).Record(value, tags));
        _listener.SetMeasurementEventCallback<long>(
            static (_, value, tags, state) => ((MeasuredInstrument)state!).Record(value, tags));
        _listener.SetMeasurementEventCallback<double>(
            static (_, value, tags, state) => ((MeasuredInstrument)state!).Record(value, tags));
        _listener.Start();
        metrics.BeginAtZero();
    }

    public static bool IsOfPools(Instrument instrument) =>
        instrument.Meter.Name == Npgsql && OfNpgsql.Contains(instrument.Name);

    /// <summary>The instruments so far; Npgsql's appear with its first connection.</summary>
    public ConcurrentQueue<MeasuredInstrument> Instruments { get; } = new();

    public MeasuredInstrument Of(Instrument instrument) =>
        Instruments.Single(measured => measured.Instrument == instrument);

    /// <summary>Reads the observable instruments, and writes all in Prometheus' text format.</summary>
    public string Write()
    {
        // One at a time: two that collect at once would mix their measurements.
        lock (_writing)
        {
            _listener.RecordObservableInstruments();
            return PrometheusText.Write(Instruments);
        }
    }

    public void Dispose() => _listener.Dispose();
}

/// <summary>GET /metrics, an operator's call: the metrics in Prometheus' text format.</summary>
internal static class MetricsEndpoint
{
    public static void MapMetrics(this IEndpointRouteBuilder admin)
    {
        var listener = admin.ServiceProvider.GetRequiredService<MetricListener>();
        admin.MapGetAndHead("/metrics", context =>
        {
            context.Response.ContentType = PrometheusText.ContentType;
            return context.Response.WriteAsync(listener.Write());
        });
    }
}

using System.Collections.Concurrent;

namespace PaymentGateway.Telemetry;

/// <summary>Listens to instruments from here on, and keeps what they measure. Safe from any thread.</summary>
internal sealed class MetricListener : IDisposable
{
    public const string Npgsql = "Npgsql";

    // One connection is one of these pools'; the meter's other instruments cost on every statement.
    private static readonly string[] OfNpgsql =
    [
        "db.client.connections.usage", "db.client.connections.max", "db.client.connections.pending_requests",
        "db.client.connections.timeouts",
    ];

    private readonly object _writing = new();
    private readonly MeterListener _listener = new();

    /// <param name="metrics">Its meter is read, and of Npgsql's what tells of the pools.</param>
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

    /// <summary>Whether an instrument of Npgsql's tells of the pools.</summary>
    public static bool IsOfPools(Instrument instrument) =>
        instrument.Meter.Name == Npgsql && OfNpgsql.Contains(instrument.Name);

    /// <summary>What is read, as far as it is there by now.</summary>
    public ConcurrentQueue<MeasuredInstrument> Instruments { get; } = new();

    /// <summary>What has been measured by an instrument that is read.</summary>
    public MeasuredInstrument Of(Instrument instrument) =>
        Instruments.Single(measured => measured.Instrument == instrument);

    /// <summary>Has the observable instruments measured, and writes everything in Prometheus' text format.</summary>
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

using BenchmarkDotNet.Attributes;
using Microsoft.Extensions.Configuration;
using PaymentGateway.Charging;
using PaymentGateway.Hosting.Configuration;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>All calls to instruments for one payment, with the listener of /metrics and without one.</summary>
public class MetricBenchmarks : IDisposable
{
    private static readonly Processor Default = new("default", 0.05m);
    private static readonly KeyValuePair<string, object?> AtDefault = Default.Tag;

    private GatewayMetrics? _metrics;
    private MetricListener? _listener;

    [Params(false, true)]
    public bool IsListening { get; set; }

    [GlobalSetup]
    public void Begin()
    {
        _metrics = new GatewayMetrics(ReadOptions());
        _listener = IsListening ? new MetricListener(_metrics) : null;
    }

    /// <summary>The defaults.</summary>
    internal static GatewayOptions ReadOptions() => GatewayOptions.Read(new SettingsReader(new ConfigurationBuilder()
        .AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["ConnectionStrings:Ledger"] = "Host=localhost;Database=nobody_connects",
            ["Gateway:Processors:Default:BaseUrl"] = "http://localhost:1",
            ["Gateway:Processors:Fallback:BaseUrl"] = "http://localhost:2",
        })
        .Build()));

    [GlobalCleanup]
    public void Dispose()
    {
        _listener?.Dispose();
        _metrics?.Dispose();
        GC.SuppressFinalize(this);
    }

    [Benchmark]
    public void OnePayment()
    {
        var metrics = _metrics!;
        metrics.StoreBatchSize.Record(1);
        metrics.StoreDuration.Record(0.0011);
        metrics.Accepted.Add(1);
        metrics.AcceptDuration.Record(0.0014);
        metrics.Calls.Add(1, AtDefault, Calls.Charge, Calls.Of(ChargeResult.Settled));
        metrics.CallDuration.Record(0.0021, AtDefault);
        metrics.RecordBatchSize.Record(1);
        metrics.RecordDuration.Record(0.0016);
        metrics.AddSettled(Default, 1, 1990, 0);
    }
}

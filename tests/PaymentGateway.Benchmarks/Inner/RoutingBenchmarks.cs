using BenchmarkDotNet.Attributes;
using PaymentGateway.Charging;
using PaymentGateway.Hosting.Configuration;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>The decision that is taken for each payment, with what it looks at.</summary>
public class RoutingBenchmarks
{
    private static readonly TimeSpan Age = TimeSpan.FromMilliseconds(1);

    private readonly RoutingOptions _options = new(
        TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(1.2), TimeSpan.FromSeconds(0.5),
        TimeSpan.FromSeconds(5.2));

    private ProcessorHealth _defaultHealth = null!;
    private ProcessorHealth _fallbackHealth = null!;

    [GlobalSetup]
    public void Observe()
    {
        _defaultHealth = new ProcessorHealth(TimeProvider.System, _options);
        _fallbackHealth = new ProcessorHealth(TimeProvider.System, _options);
        _defaultHealth.End(probe: false, TimeSpan.FromMilliseconds(2), null);
    }

    [Benchmark]
    public bool Choose() =>
        ProcessorRouter.Choose([_defaultHealth.Read(), _fallbackHealth.Read()], Age, _options.FallbackAfter) == 0;
}

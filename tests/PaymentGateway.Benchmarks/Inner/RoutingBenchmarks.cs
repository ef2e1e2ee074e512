using BenchmarkDotNet.Attributes;
using PaymentGateway.Configuring;
using PaymentGateway.Routing;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>The decision that is taken for each payment, with what it looks at.</summary>
public class RoutingBenchmarks
{
    private static readonly TimeSpan Age = TimeSpan.FromMilliseconds(1);

    private readonly RoutingOptions options = new(
        RoutingPolicy.Cheapest, TimeSpan.FromSeconds(30), TimeSpan.FromSeconds(1.2), TimeSpan.FromSeconds(0.5),
        TimeSpan.FromSeconds(5.2));

    private ProcessorHealth defaultHealth = null!;
    private ProcessorHealth fallbackHealth = null!;

    [GlobalSetup]
    public void Observe()
    {
        defaultHealth = new ProcessorHealth(TimeProvider.System, options);
        fallbackHealth = new ProcessorHealth(TimeProvider.System, options);
        defaultHealth.End(probe: false, TimeSpan.FromMilliseconds(2), null);
    }

    [Benchmark]
    public bool Choose() =>
        ProcessorRouter.Choose(defaultHealth.Read(), fallbackHealth.Read(), Age, options) == RouteChoice.Default;
}

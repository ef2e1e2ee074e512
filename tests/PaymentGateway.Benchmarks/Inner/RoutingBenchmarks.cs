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

    private ProcessorHealth cheap = null!;
    private ProcessorHealth dear = null!;

    [GlobalSetup]
    public void Observe()
    {
        cheap = new ProcessorHealth(TimeProvider.System, options);
        dear = new ProcessorHealth(TimeProvider.System, options);
        cheap.End(probe: false, TimeSpan.FromMilliseconds(2), null);
    }

    [Benchmark]
    public bool Choose() =>
        ProcessorRouter.Choose(cheap.Read(), dear.Read(), Age, options) == RouteChoice.Default;
}

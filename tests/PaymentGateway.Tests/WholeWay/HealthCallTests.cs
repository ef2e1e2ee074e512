using System.Diagnostics;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.WholeWay;

/// <summary>The contract's one health call per processor in 5 s is for all instances together.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class HealthCallTests(RunningSystem running, ITestOutputHelper output)
{
    private static readonly TimeSpan Window = TimeSpan.FromSeconds(5);

    [GatewaySystemFact]
    public async Task Both_instances_together_make_at_most_one_health_call_in_5_s()
    {
        var system = running.System;
        await system.ResetAsync();
        var seen = new Dictionary<SimulatedProcessor, List<TimeSpan>> { [system.Default] = [], [system.Fallback] = [] };

        var clock = Stopwatch.StartNew();
        while (clock.Elapsed < TimeSpan.FromSeconds(13))
        {
            foreach (var (processor, times) in seen)
                for (var calls = (await processor.CallsAsync()).HealthCalls; times.Count < calls;)
                    times.Add(clock.Elapsed);
            await Task.Delay(TimeSpan.FromMilliseconds(20));
        }

        foreach (var (processor, times) in seen)
        {
            output.WriteLine($"health calls at {string.Join(", ", times.Select(at => $"{at.TotalSeconds:0.00} s"))}");
            Assert.InRange(times.Count, 2, 3);
            // Seen up to one look and one busy moment later than it was made.
            foreach (var (earlier, later) in times.Zip(times.Skip(1)))
                Assert.True(later - earlier > Window - TimeSpan.FromMilliseconds(200), $"{earlier}, then {later}");
        }
    }
}

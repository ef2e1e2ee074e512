using System.Collections.Concurrent;
using System.Globalization;
using PaymentGateway.Hosting.Configuration;

namespace PaymentGateway.Benchmarks.Routing;

/// <summary>The policy over official and random loads, by fallback delay: the table of docs/routing.md.</summary>
internal static class RoutingReport
{
    private const int Phases = 24;

    // One simulated payment of a random load stands for ten: a run takes milliseconds.
    private const int RandomWeight = 10;

    private static readonly int[] FallbackAfterSeconds = [0, 1, 5, 10, 15, 20, 30];

    /// <param name="randomLoads">How many random loads to play; the seeds are 0, 1, 2, …</param>
    public static void Run(int randomLoads)
    {
        Console.WriteLine("| `FallbackAfter` | load | net, worst | lag | on dearer ones | delay p50 / p99 s "
            + "| regret, worst |");
        Console.WriteLine("| --- | --- | --- | --- | --- | --- | --- |");
        foreach (var seconds in FallbackAfterSeconds)
        {
            var options = new RoutingOptions(
                TimeSpan.FromSeconds(seconds), TimeSpan.FromSeconds(1.2), TimeSpan.FromSeconds(0.5),
                TimeSpan.FromSeconds(5.2));
            foreach (var official in new[] { Schedule.Preview, Schedule.Final, Schedule.Alone })
                Print(seconds, official.Name, Play(
                    Phases, phase => new RoutingRun(official.Shifted(PartOf(phase)), options, weight: 1)));
            foreach (var processors in new[] { 2, 3, 5 })
                Print(seconds, $"random, {processors} processors", Play(
                    randomLoads, seed => new RoutingRun(Schedule.Random(seed, processors), options, RandomWeight)));
        }
    }

    // Not in step with the phases of the health reports.
    private static double PartOf(int number) => number * 7 % Phases / (double)Phases;

    private static ConcurrentBag<RoutingResult> Play(int count, Func<int, RoutingRun> of)
    {
        var results = new ConcurrentBag<RoutingResult>();
        Parallel.For(0, count, number => results.Add(of(number).Play(PartOf(number * 5))));
        return results;
    }

    private static void Print(int seconds, string load, ConcurrentBag<RoutingResult> all) => Console.WriteLine(
        string.Create(CultureInfo.InvariantCulture, $"| {seconds} s | {load} | {all.Average(one => one.Net):0.0000}, "
            + $"{all.Min(one => one.Net):0.0000} | {all.Average(one => one.Lag):0.0000} "
            + $"| {all.Average(one => one.OnDearer):0.000} | {all.Average(one => one.DelayP50):0.00} / "
            + $"{all.Average(one => one.DelayP99):0.00} | {all.Average(one => one.Regret):0.0000}, "
            + $"{all.Max(one => one.Regret):0.000} |"));
}

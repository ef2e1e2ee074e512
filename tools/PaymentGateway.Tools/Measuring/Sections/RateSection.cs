namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>
/// Latency and CPU at a fixed rate of arrivals. Gatling's open arrivals would not do here: it empties the ledger first,
/// and its JVM would want a good part of the two cores.
/// </summary>
internal static class RateSection
{
    private const string Name = "rate";

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        Console.WriteLine("rate side p50 p99 most CPU/1000: all nginx instances postgres; failed");
        for (var round = 1; round <= settings.Rounds; round++)
            foreach (var side in settings.RateSides)
                await PayAsync(bench, side, round, cancellation);

        bench.Report.Table(
            $"{settings.Rate} payments/s at fixed moments, timed from when they were due; medians of "
            + $"{settings.Rounds} × {settings.RateSeconds} s",
            "side", "p50 ms", "p99 ms", "most ms", "CPU s / 1,000", "nginx", "instances", "PostgreSQL", "failed");
        bench.Report.MedianRows(Name, settings.RateSides, ..);
    }

    private static async Task PayAsync(Bench bench, string name, int round, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        var (load, cpu) = await MeasuredLoad.RunAsync(
            bench, name, $"{name} at {settings.Rate}/s, round {round}",
            side => Bench.PayAsync(side, settings.Rate, settings.RateSeconds, cancellation), load => load.Accepted,
            cancellation);
        bench.Report.Row(
            Name, name, [Figure.Of(load.P50Ms, 2), Figure.Of(load.P99Ms, 2), Figure.Of(load.MaxMs, 2),
                .. cpu.Figures(), Figure.Of(load.Failed)]);
    }
}

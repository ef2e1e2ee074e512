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
        await bench.Machine.AwaitAsync($"{name} at {settings.Rate}/s, round {round}", cancellation);
        await using var side = await bench.StartAsync(name, cancellation);
        using var client = new GatewayClient(side);
        await Bench.WarmSideAsync(side, cancellation);
        var settles = name is not ("nginx-alone" or "stub");
        var known = settles ? await client.SettledAsync(cancellation) ?? 0 : 0;
        var before = side.Cpu();

        var load = await Bench.PayAsync(side, settings.Rate, settings.RateSeconds, cancellation);
        if (settles)
            await client.AwaitSettledAsync(known + load.Accepted, bench.SettleLimit, cancellation);

        bench.Report.Row(
            Name, name, [Figure.Of(load.P50Ms, 2), Figure.Of(load.P99Ms, 2), Figure.Of(load.MaxMs, 2),
                .. (side.Cpu() - before).Per(load.Accepted).Figures(), Figure.Of(load.Failed)]);
    }
}

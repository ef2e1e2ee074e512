using System.Diagnostics;
using PaymentGateway.Tools.Measuring.Load;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>Payments queue up while both processors fail, then drain while as many arrive as before.</summary>
internal static class DrainSection
{
    private const string Name = "drain";
    private const int CalmSeconds = 15;

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        Console.WriteLine(
            "drain delay_ms calm_p50 p99 queued drain_s per_s p50 p99 factor failed CPU/1000 …; peaks of memory");
        foreach (var delay in settings.DrainDelays)
            await DrainAsync(bench, delay, cancellation);

        bench.Report.Table(
            $"Drain of {settings.DrainPayments} queued payments while {settings.Rate}/s arrive; over when a second of "
            + "arrivals waits",
            "delay ms", "p50 before", "p99 before", "queued", "drain s", "settled/s", "p50 meanwhile", "p99",
            "p99 factor", "failed");
        bench.Report.MedianRows(Name, settings.DrainDelays, ..9);
        bench.Report.Table(
            "The same: CPU s / 1,000 settled in the drain, and the peaks of memory, MiB",
            "delay ms", "all", "nginx", "instances", "PostgreSQL", "whole PSS", "instance PSS", "instance resident");
        bench.Report.MedianRows(Name, settings.DrainDelays, 9..);
    }

    /// <param name="delay">Of both processors, in milliseconds.</param>
    private static async Task DrainAsync(Bench bench, string delay, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        await bench.Machine.AwaitAsync($"drain at {delay} ms", cancellation);
        await using var side = await bench.StartAsync("stored", cancellation);
        await using var memory = new MemoryWatch(side);
        using var client = new GatewayClient(side.System.Settings);
        await client.SetProcessorsAsync("delay", delay, cancellation);
        await Bench.WarmSideAsync(side, cancellation);
        var calm = await Bench.PayAsync(side, settings.Rate, CalmSeconds, cancellation);
        await client.SetProcessorsAsync("failure", "true", cancellation);
        var known = await client.SettledAsync(cancellation) ?? 0;
        var filling = await Wrk.PayManyAsync(side.Url, settings.Connections, settings.DrainPayments, cancellation);
        Console.WriteLine($"  {filling.Accepted} queued in {Figure.Of(filling.Seconds, 3)} s");

        var drain = await WatchAsync(bench, side, client, (known, filling.Accepted), cancellation);

        var meanwhile = drain.Meanwhile;
        bench.Report.Row(
            Name, delay,
            [Figure.Of(calm.P50Ms, 2), Figure.Of(calm.P99Ms, 2), Figure.Of(filling.Accepted),
                Figure.Of(drain.Seconds, 1), Figure.Of((long)(drain.Settled / drain.Seconds)),
                Figure.Of(meanwhile.P50Ms, 2), Figure.Of(meanwhile.P99Ms, 2),
                Figure.Of(meanwhile.P99Ms / calm.P99Ms, 2), Figure.Of(meanwhile.Failed),
                .. drain.Cpu.Per(drain.Settled).Figures(), .. (await memory.StopAsync()).Figures()]);
    }

    private static async Task<Drain> WatchAsync(
        Bench bench, Side side, GatewayClient client, (int Known, int Queued) payments, CancellationToken cancellation)
    {
        var rate = bench.Settings.Rate;
        await using var load = new BackgroundLoad(side, rate, (int)bench.SettleLimit.TotalSeconds, cancellation);
        var began = Stopwatch.StartNew();
        // A second of it is also what the generator may take to begin.
        await Task.Delay(TimeSpan.FromSeconds(2.3), cancellation);
        var before = side.Cpu();
        await client.SetProcessorsAsync("failure", "false", cancellation);
        var healed = Stopwatch.StartNew();
        int settled;
        double waitedFor;
        do
        {
            await Task.Delay(TimeSpan.FromSeconds(0.25), cancellation);
            settled = await client.SettledAsync(cancellation) ?? payments.Known;
            waitedFor = payments.Known + payments.Queued + rate * began.Elapsed.TotalSeconds;
            bench.Log($"drain: {healed.ElapsedMilliseconds} ms: {settled} of {(int)waitedFor}");
        }
        while (settled < waitedFor - rate && healed.Elapsed < bench.SettleLimit);

        var seconds = healed.Elapsed.TotalSeconds;
        var cpu = side.Cpu() - before;
        if (settled < waitedFor - rate)
            Console.WriteLine($"not drained after {bench.SettleLimit.TotalSeconds} s: {settled} settled");
        return new Drain(seconds, settled - payments.Known, cpu, await load.EndAsync());
    }

    /// <summary>What a drain took, what it settled, and what those who paid meanwhile saw.</summary>
    private sealed record Drain(double Seconds, int Settled, CpuUse Cpu, LoadResult Meanwhile);
}

using System.Globalization;
using PaymentGateway.Tools.Measuring.Load;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>POST /payments as fast as the connections can, sides in turn; CPU until all accepted is settled.</summary>
internal static class SaturationSection
{
    private const string Name = "saturation";
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(3);

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        Console.WriteLine("saturation side req/s p50 p99 CPU/1000: all nginx instances postgres; failed");
        for (var round = 1; round <= settings.Rounds; round++)
            foreach (var side in settings.Sides)
                await SaturateAsync(bench, side, round, cancellation);

        bench.Report.Table(
            $"Saturation through nginx: wrk, {settings.Connections} connections (closed loop), unique ids, sides in "
            + $"turn, medians of\n{settings.Rounds} × {settings.SecondsEach} s, after one warm-up of the machine of "
            + $"{settings.WarmSeconds} s and 2 s a side",
            "side", "req/s", "p50 ms", "p99 ms", "CPU s / 1,000", "nginx", "instances", "PostgreSQL", "refused",
            "of the stub");
        foreach (var side in settings.Sides.Distinct())
            bench.Report.TableRow([side, .. bench.Report.Rows.Medians(Name, side, ..), ShareOfStub(bench, side)]);
    }

    private static async Task SaturateAsync(Bench bench, string name, int round, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        await bench.Machine.AwaitAsync($"{name}, round {round}", cancellation);
        await using var side = await bench.StartAsync(name, cancellation);
        using var client = new GatewayClient(side.System.Settings);
        await Bench.WarmSideAsync(side, cancellation);
        var settles = name is not ("nginx-alone" or "stub");
        var known = settles ? await client.SettledAsync(cancellation) ?? 0 : 0;
        var before = side.Cpu();

        var load = await Wrk.PayAsync(side.Url, settings.Connections, settings.SecondsEach, round, cancellation);
        if (settles)
            await client.AwaitSettledAsync(known + load.Accepted, SettleLimit, cancellation);
        var cpu = (side.Cpu() - before).Per(load.Accepted);
        bench.Report.Row(
            Name, name, [Figure.Of(load.PerSecond), Figure.Of(load.P50Ms, 3), Figure.Of(load.P99Ms, 3),
                .. cpu.Figures(), Figure.Of(load.Failed)]);
    }

    private static string ShareOfStub(Bench bench, string side)
    {
        var stub = bench.Report.Rows.MedianOf(Name, "stub", 0);
        var own = bench.Report.Rows.MedianOf(Name, side, 0);
        return stub.Length == 0 ? "" : $"{(int)(100 * Number(own) / Number(stub))} %";
    }

    private static double Number(string figure) => double.Parse(figure, CultureInfo.InvariantCulture);
}

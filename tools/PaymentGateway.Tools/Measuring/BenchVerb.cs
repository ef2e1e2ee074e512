using System.CommandLine;

namespace PaymentGateway.Tools.Measuring;

/// <summary>
/// How many payments a second the gateway takes, and what may stand in its place. LIMITS=1 (root) puts nginx, the
/// instances and PostgreSQL under their shares of 1.5 CPU; generators and processors stay outside.
/// </summary>
public static class BenchVerb
{
    public static Command Create()
    {
        var verb = new Command(
            "bench", "Saturation by wrk. Settings: LIMITS=1 ROUNDS SIDES SECONDS_EACH CONNECTIONS WARM_SECONDS OUT");
        verb.SetAction((_, cancellation) => RunAsync(cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(CancellationToken cancellation)
    {
        Programs.Demand("wrk");
        var settings = SystemSettings.FromEnvironment();
        await Publishing.PrepareAsync(settings, cancellation);
        await StubProgram.PublishAsync(settings, cancellation);
        var folder = Path.GetFullPath(settings["OUT"]
            ?? Repository.PathOf("artifacts", "bench", $"{DateTime.UtcNow:yyyyMMdd-HHmmss}"));
        Directory.CreateDirectory(folder);
        var systemLog = Path.Combine(folder, "system.log");
        await using var log = TextWriter.Synchronized(File.AppendText(systemLog));
        string[] report;
        try
        {
            report =
            [
                $"Bench of {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC, commit {await Commit.ReadAsync(cancellation)}, "
                    + $"{Environment.ProcessorCount} cores, "
                    + (settings.Limits ? "nginx, instances and PostgreSQL under 1.5 CPU" : "no limits")
                    + $", load average {await File.ReadAllTextAsync("/proc/loadavg", cancellation)}",
                .. await new Saturation(settings, folder, log).MeasureAsync(cancellation),
            ];
        }
        catch (Exception failed) when (failed is HttpRequestException or TaskCanceledException
            && !cancellation.IsCancellationRequested)
        {
            throw new ToolException($"{failed.Message}; log: {systemLog}");
        }

        await File.WriteAllLinesAsync(Path.Combine(folder, "report.md"), report, cancellation);
        Console.WriteLine(string.Join('\n', report));
        Console.WriteLine($"report: {folder}/report.md");
        return 0;
    }
}

/// <summary>POST /payments as fast as the connections can, sides in turn; CPU until all is settled.</summary>
internal sealed class Saturation(SystemSettings settings, string folder, TextWriter log)
{
    private const int WarmUpRun = 9999;
    private const int SideWarmUpRun = 9998;
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(3);

    private readonly SystemSettings _own =
        FreePorts.Added(settings.With(("RUN_DIR", Path.Combine(folder, "run"))));

    private readonly int _connections = settings.Number("CONNECTIONS", 64);

    /// <summary>The lines of a report.</summary>
    public async Task<IEnumerable<string>> MeasureAsync(CancellationToken cancellation)
    {
        var sides = (settings["SIDES"] ?? "nginx-alone stub stored stored-durable")
            .Split(' ', StringSplitOptions.RemoveEmptyEntries);
        var (rounds, seconds) = (settings.Number("ROUNDS", 3), settings.Number("SECONDS_EACH", 6));
        await WarmMachineAsync(settings.Number("WARM_SECONDS", 30), cancellation);
        var runs = new List<SaturationRun>();
        for (var round = 1; round <= rounds; round++)
            foreach (var side in sides)
            {
                runs.Add(await SaturateAsync(side, round, seconds, cancellation));
                Console.WriteLine($"round {round}: {SaturationRun.Row(side, runs[^1..], [])}");
            }

        var ofStub = runs.Where(run => run.Side == "stub").ToList();
        return
        [
            $"Saturation through nginx: wrk, {_connections} connections (closed loop), unique ids, sides in turn, "
                + $"medians of {rounds} × {seconds} s",
            "",
            .. SaturationRun.Head,
            .. sides.Distinct().Select(
                side => SaturationRun.Row(side, [.. runs.Where(run => run.Side == side)], ofStub)),
        ];
    }

    // Page cache and clocks, once; thirty seconds for every side of every round would be half of the bench.
    private async Task WarmMachineAsync(int seconds, CancellationToken cancellation)
    {
        if (seconds == 0)
            return;

        Console.WriteLine($"warming up for {seconds} s");
        await using var side = await StartAsync("stored", cancellation);
        await Wrk.PayAsync(side.Url, _connections, seconds, WarmUpRun, cancellation);
    }

    private async Task<SaturationRun> SaturateAsync(
        string name, int round, int seconds, CancellationToken cancellation)
    {
        await using var side = await StartAsync(name, cancellation);
        using var client = new GatewayClient(side.System.Settings.Url);
        await Wrk.PayAsync(side.Url, connections: 8, seconds: 2, SideWarmUpRun, cancellation);
        await Task.Delay(TimeSpan.FromSeconds(1), cancellation);
        var settles = name is not ("nginx-alone" or "stub");
        var known = settles ? await client.SettledAsync(cancellation) ?? 0 : 0;
        var before = side.Cpu();

        var load = await Wrk.PayAsync(side.Url, _connections, seconds, round, cancellation);
        if (settles)
            await client.AwaitSettledAsync(known + load.Accepted, SettleLimit, cancellation);
        return new SaturationRun(name, load, (side.Cpu() - before).Per(load.Accepted));
    }

    private Task<Side> StartAsync(string side, CancellationToken cancellation)
    {
        var (kind, changed) = side switch
        {
            "nginx-alone" => (SideKind.NginxAlone, _own),
            "stub" => (SideKind.Stub, _own),
            "stored" => (SideKind.Gateway, _own),
            "stored-durable" => (SideKind.Gateway, _own.With(("PROFILE", "durable"))),
            "stored-plain" => (SideKind.Gateway, _own.With(("MULTIPLEXING", "false"))),
            _ => throw new ToolException($"no such side: {side}"),
        };
        return Side.StartAsync(kind, changed, log, cancellation);
    }
}

/// <summary>What one saturation of a side came to.</summary>
public sealed record SaturationRun(string Side, WrkResult Load, CpuUse Cpu)
{
    public static IReadOnlyList<string> Head { get; } = Figure.Head(
    [
        "side", "req/s", "p50 ms", "p99 ms", "CPU s / 1,000", "nginx", "instances", "PostgreSQL", "refused",
        "of the stub",
    ]);

    /// <summary>The medians of a side as a table's row.</summary>
    public static string Row(string side, IReadOnlyList<SaturationRun> runs, IReadOnlyList<SaturationRun> ofStub)
    {
        var perSecond = Median(runs, run => run.Load.PerSecond);
        return Figure.Row(
        [
            side, Figure.Of(perSecond, 0), Figure.Of(Median(runs, run => run.Load.P50Ms), 3),
            Figure.Of(Median(runs, run => run.Load.P99Ms), 3), Figure.Of(Median(runs, run => run.Cpu.All), 3),
            Figure.Of(Median(runs, run => run.Cpu.Nginx), 3), Figure.Of(Median(runs, run => run.Cpu.Instances), 3),
            Figure.Of(Median(runs, run => run.Cpu.PostgreSql), 3), Figure.Of(Median(runs, run => run.Load.Failed), 0),
            ofStub.Count == 0 ? "" : $"{(int)(100 * perSecond / Median(ofStub, run => run.Load.PerSecond))} %",
        ]);
    }

    private static double Median(IEnumerable<SaturationRun> runs, Func<SaturationRun, double> figure) =>
        Statistics.Median(runs.Select(figure));
}

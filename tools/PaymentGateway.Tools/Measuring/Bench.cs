namespace PaymentGateway.Tools.Measuring;

/// <summary>The sections of a measurement, and its report.</summary>
internal sealed class Bench(SystemSettings settings, string folder, TextWriter log)
{
    private const int WarmUpRun = 9999;
    private const int SideWarmUpRun = 9998;
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(3);

    private readonly SystemSettings _own =
        FreePorts.Added(settings.With(("RUN_DIR", Path.Combine(folder, "run"))));

    private readonly int _connections = settings.Number("CONNECTIONS", 64);

    /// <summary>The file.</summary>
    public string Report { get; } = Path.Combine(folder, "report.md");

    /// <summary>A line for the reader now and for the report.</summary>
    public void Tell(string line)
    {
        Console.WriteLine(line);
        File.AppendAllText(Report, line + "\n");
    }

    /// <summary>POST /payments as fast as the connections can, sides in turn; CPU until all is settled.</summary>
    public async Task SaturateAsync(CancellationToken cancellation)
    {
        Programs.Demand("wrk");
        await TestPrograms.PublishStubAsync(settings, cancellation);
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

        Tell("");
        Tell($"Saturation through nginx: wrk, {_connections} connections (closed loop), unique ids, sides in turn, "
            + $"medians of {rounds} × {seconds} s");
        Tell("");
        Tell(SaturationRun.Head);
        Tell(Figure.Row(SaturationRun.Head.Split('|')[1..^1].Select(_ => "---")));
        var ofStub = runs.Where(run => run.Side == "stub").ToList();
        foreach (var side in sides.Distinct())
            Tell(SaturationRun.Row(side, runs.Where(run => run.Side == side).ToList(), ofStub));
    }

    /// <summary>BenchmarkDotNet, short job: time and bytes of the inner pieces.</summary>
    public async Task RunInnerAsync(CancellationToken cancellation)
    {
        await TestPrograms.PublishBenchmarksAsync(settings, cancellation);
        var status = await Shell.ShowAsync(
            [TestPrograms.Benchmarks(settings), "inner"], folder, cancellation: cancellation);
        if (status != 0)
            throw new ToolException("the benchmarks failed");
        Tell($"Inner pieces, {Framework} (JIT), short job: the tables are in {folder}/BenchmarkDotNet.Artifacts");
    }

    /// <summary>Bytes per payment by a whole gateway, in one process with its load; TYPES=1: of which types.</summary>
    public async Task CountBytesAsync(CancellationToken cancellation)
    {
        await TestPrograms.PublishBenchmarksAsync(settings, cancellation);
        await using var side = Side.Of(SideKind.Gateway, _own, log);
        await side.System.StartAsync([PartNames.Postgres, PartNames.Default, PartNames.Fallback], cancellation);
        Tell($"Bytes allocated per payment by one gateway: Kestrel, Npgsql and HTTP client included, {Framework} "
            + "(JIT), no nginx");
        List<string> command = [TestPrograms.Benchmarks(settings), "allocations", side.EnvironmentFile];
        if (settings["TYPES"] is not null)
            command.Add("types");
        Tell(await Shell.ReadAsync(command, cancellation: cancellation));
    }

    private string Framework => settings.Framework ?? Repository.DefaultFramework();

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
        using var client = new GatewayClient(side.System.Settings);
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
    public const string Head = "| side | req/s | p50 ms | p99 ms | CPU s / 1,000 | nginx | instances | PostgreSQL "
        + "| refused | of the stub |";

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

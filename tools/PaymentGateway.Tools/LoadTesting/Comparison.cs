using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>
/// Sides under the same load, one after the other, again and again: the machine drifts, and drifts under all of them.
/// </summary>
internal sealed class Comparison(string[] sides, int rounds, IReadOnlyList<string> properties, SystemSettings settings)
{
    private readonly string _folder =
        Repository.PathOf("artifacts", "gatling", $"compare-{DateTime.UtcNow:yyyyMMdd-HHmmss}");

    private readonly List<ComparedRun> _runs = [];

    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        Directory.CreateDirectory(_folder);
        var status = 0;
        for (var round = 1; round <= rounds; round++)
            foreach (var side in sides)
                if (!await IsRightAsync(side, round, cancellation))
                    status = 1;

        Console.WriteLine();
        foreach (var line in ComparisonReport.Of(_runs))
            Console.WriteLine(line);
        return status;
    }

    private async Task<bool> IsRightAsync(string side, int round, CancellationToken cancellation)
    {
        var log = Path.Combine(_folder, $"{side}-{round}.log");
        var plan = Loads.Of(side, properties, settings);
        var right = false;
        await using (var output = TextWriter.Synchronized(File.CreateText(log)))
        {
            try
            {
                var run = new LoadRun(plan, settings, FolderOf(side, round), output);
                right = await run.RunAsync(cancellation) == 0;
            }
            catch (ToolException failure)
            {
                await output.WriteLineAsync(failure.Message);
            }
        }

        if (!right)
            Console.WriteLine($"round {round}, {side}: not right; log: {log}");
        if (RunResult.In(FolderOf(side, round)) is { } result)
        {
            _runs.Add(new ComparedRun(side, plan.Side, result));
            Console.WriteLine(result.Row);
        }

        return right;
    }

    private string FolderOf(string side, int round) => Path.Combine(_folder, $"{side}-{round}");
}

/// <summary>What the runs of a comparison say together: all that a target is held against.</summary>
public static class ComparisonReport
{
    private static readonly string[] EachRun =
        ["accepted", "lag", "inconsistencies", "net", "score", "p99Ms", "paymentP99Ms"];

    private static readonly string[] Medians = ["p50Ms", "p99Ms", "paymentP99Ms", "cpuSecondsPer1000"];

    public static IEnumerable<string> Of(IReadOnlyList<ComparedRun> runs)
    {
        var sides = runs.GroupBy(run => run.Side).ToList();
        return
        [
            .. Table("each run", EachRun, runs.Select(run => (run.Side, EachRun.Select(run.Result.Text)))),
            "",
            .. Table(
                "medians", Medians, sides.Select(side => (side.Key, Medians.Select(figure => MedianOf(side, figure))))),
            .. sides.GroupBy(SimulationOf).SelectMany(Stages),
            .. Ratios(sides),
        ];
    }

    private static IEnumerable<string> Stages(IEnumerable<IGrouping<string, ComparedRun>> sides)
    {
        var seconds = sides.First().First().Result.Stages
            .Select(stage => stage.FromSecond.ToString(CultureInfo.InvariantCulture)).ToList();
        return
        [
            "",
            .. Table("payments' p99 ms, from second", seconds, sides.Select(side => (
                side.Key, seconds.Select((_, at) => Median(side.Select(run => run.Result.Stages[at].P99Ms)))))),
        ];
    }

    // Each gateway against the stub that had the same load.
    private static IEnumerable<string> Ratios(IReadOnlyList<IGrouping<string, ComparedRun>> sides) =>
        from ours in sides
        where ours.First().Kind == SideKind.Gateway
        from stub in sides
        where stub.First().Kind == SideKind.Stub && SimulationOf(stub) == SimulationOf(ours)
        select $"\n{ours.Key} / {stub.Key}, ratio of the medians' p99: {RatioOf(ours, stub, "p99Ms")} of every call, "
            + $"{RatioOf(ours, stub, "paymentP99Ms")} of the payments alone";

    private static string RatioOf(IEnumerable<ComparedRun> ours, IEnumerable<ComparedRun> stub, string figure) =>
        Figure.Of(Statistics.Median(Numbers(ours, figure)) / Statistics.Median(Numbers(stub, figure)), 2);

    private static string SimulationOf(IGrouping<string, ComparedRun> side) => side.First().Result.Text("simulation");

    private static string MedianOf(IEnumerable<ComparedRun> side, string figure) => Median(Numbers(side, figure));

    private static string Median(IEnumerable<double> figures) =>
        figures.ToList() is { Count: > 0 } some ? Figure.Of(Statistics.Median(some), 3) : "-";

    private static IEnumerable<double> Numbers(IEnumerable<ComparedRun> side, string figure) =>
        side.Select(run => run.Result.Number(figure)).OfType<double>();

    private static IEnumerable<string> Table(
        string name, IReadOnlyCollection<string> head, IEnumerable<(string Side, IEnumerable<string> Cells)> rows) =>
    [
        .. Figure.Head([name, .. head]),
        .. rows.Select(row => Figure.Row([row.Side, .. row.Cells])),
    ];
}

/// <summary>One run of a comparison's side.</summary>
public sealed record ComparedRun(string Side, SideKind Kind, RunResult Result);

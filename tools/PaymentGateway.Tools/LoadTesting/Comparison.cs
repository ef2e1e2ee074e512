using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>
/// Sides under the same load, one after the other, again and again: the machine drifts, and drifts under all of them.
/// </summary>
internal sealed class Comparison(string[] sides, int rounds, IReadOnlyList<string> properties, SystemSettings settings)
{
    private readonly string _folder =
        Repository.PathOf("artifacts", "gatling", $"compare-{DateTime.UtcNow:yyyyMMdd-HHmmss}");

    private readonly List<(string Side, RunResult Result)> _results = [];

    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        Directory.CreateDirectory(_folder);
        var status = 0;
        for (var round = 1; round <= rounds; round++)
            foreach (var side in sides)
                if (!await IsRightAsync(side, round, cancellation))
                    status = 1;

        Console.WriteLine($"medians of {rounds}, ms: p50 / p99 of every call, p99 of the payments alone; in the 10 s "
            + "after the recovery p99 of every call, of the payments alone; CPU s per 1,000:");
        foreach (var side in sides.Distinct())
            Console.WriteLine($"  {side} {Median(side, "p50Ms")} / {Median(side, "p99Ms")}, "
                + $"{Median(side, "paymentP99Ms")}; {Median(side, "p99AfterRecoveryMs")}, "
                + $"{Median(side, "paymentP99AfterRecoveryMs")}; {Median(side, "cpuSecondsPer1000")}");
        return status;
    }

    private async Task<bool> IsRightAsync(string side, int round, CancellationToken cancellation)
    {
        var log = Path.Combine(_folder, $"{side}-{round}.log");
        var right = false;
        await using (var output = TextWriter.Synchronized(File.CreateText(log)))
        {
            try
            {
                var run = new LoadRun(Loads.Of(side, properties, settings), settings, FolderOf(side, round), output);
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
            _results.Add((side, result));
            Console.Write(await File.ReadAllTextAsync(Path.Combine(FolderOf(side, round), "row.md"), cancellation));
        }

        return right;
    }

    private string FolderOf(string side, int round) => Path.Combine(_folder, $"{side}-{round}");

    private string Median(string side, string figure)
    {
        var figures = _results.Where(each => each.Side == side).Select(each => each.Result.Number(figure))
            .OfType<double>().ToList();
        return figures.Count == 0 ? "-" : Figure.Of(Statistics.Median(figures), 3);
    }
}

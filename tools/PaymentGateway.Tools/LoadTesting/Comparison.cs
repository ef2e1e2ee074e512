using PaymentGateway.Tools.Running;

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
            Console.Write(await File.ReadAllTextAsync(Path.Combine(FolderOf(side, round), "row.md"), cancellation));
        }

        return right;
    }

    private string FolderOf(string side, int round) => Path.Combine(_folder, $"{side}-{round}");
}

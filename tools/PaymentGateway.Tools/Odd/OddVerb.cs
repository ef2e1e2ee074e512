using System.Collections.Concurrent;
using System.CommandLine;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.Odd;

/// <summary>
/// Plays each odd answer of a processor against the published binaries, at three rates, on systems side by side; prints
/// where payments were settled, how late, whether one was charged twice, and what an operator was told.
/// </summary>
public static class OddVerb
{
    private const int PortsOfOne = 10;

    private static string Folder => Repository.PathOf("artifacts", "odd");

    public static Command Create()
    {
        var parts = new Argument<string[]>("parts")
        {
            Description = "only lines with all of these, such as 'default' '1/min' '404'",
            Arity = ArgumentArity.ZeroOrMore,
        };
        var verb = new Command("odd", "Odd processors at light and heavy loads; AT_ONCE=8 PORT=24000.") { parts };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(SystemSettings.FromEnvironment(), parsed.GetValue(parts)!, cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(
        SystemSettings settings, string[] parts, CancellationToken cancellation)
    {
        var lines = OddCase.All.SelectMany(one => OddRate.All.Select(rate => new OddLine(one.Case, one.Odd, rate)))
            .Where(line => parts.All(part => line.Name.Contains(part, StringComparison.Ordinal))).ToList();
        if (lines.Count == 0)
            throw new ToolException("no line has all of these");
        await Publishing.PrepareAsync(settings, cancellation);
        Directory.CreateDirectory(Folder);
        var took = Stopwatch.StartNew();
        var atOnce = settings.Number("AT_ONCE", 8);
        var ports = new ConcurrentBag<int>(
            Enumerable.Range(0, atOnce).Select(at => settings.Number("PORT", 24_000) + at * PortsOfOne));
        var rows = new ConcurrentDictionary<OddLine, OddRow>();
        await Parallel.ForEachAsync(
            lines,
            new ParallelOptions { MaxDegreeOfParallelism = atOnce, CancellationToken = cancellation },
            async (line, end) =>
            {
                ports.TryTake(out var port);
                rows[line] = await PlayAsync(line, Of(settings, line, port), end);
                ports.Add(port);
            });

        var table = OddRow.Tables([.. lines.Select(line => rows[line])]);
        await File.WriteAllTextAsync(Path.Combine(Folder, "table.md"), table, cancellation);
        Console.Write($"\n{table}");
        var failed = lines.Count(line => rows[line].Faults.Count > 0);
        Console.WriteLine($"{took.Elapsed:mm\\:ss} min, {lines.Count} lines, {failed} failed");
        return failed > 0 ? 1 : 0;
    }

    private static async Task<OddRow> PlayAsync(OddLine line, SystemSettings settings, CancellationToken cancellation)
    {
        OddRow row;
        try
        {
            row = await new OddRun(line, settings).PlayAsync(cancellation);
        }
        catch (Exception broken) when (!cancellation.IsCancellationRequested)
        {
            row = new OddRow(line) { Faults = [$"{broken}"] };
        }

        Console.WriteLine($"{DateTime.UtcNow:HH:mm:ss} {row}");
        foreach (var fault in row.Faults)
            Console.WriteLine($"  FAILED {fault}");
        return row;
    }

    private static SystemSettings Of(SystemSettings settings, OddLine line, int port) => settings.With(
        ("RUN_DIR", Path.Combine(Folder, line.FileName)),
        ("PORT", Figure.Of(port)), ("DEFAULT_PORT", Figure.Of(port + 1)), ("FALLBACK_PORT", Figure.Of(port + 2)),
        ("ADMIN_PORT", Figure.Of(port + 3)), ("READY_SECONDS", settings["READY_SECONDS"] ?? "120"));
}

/// <summary>One case, one processor and one rate.</summary>
internal sealed record OddLine(OddCase Case, string Odd, OddRate Rate)
{
    public string Name => $"{Odd} {Case.Name} {Rate.Name}";

    public string FileName => Regex.Replace(Name, "[^a-z0-9]+", "-");
}

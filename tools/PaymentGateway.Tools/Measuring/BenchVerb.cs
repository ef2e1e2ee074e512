using System.CommandLine;
using PaymentGateway.Tools.Measuring.Sections;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>
/// Speed in figures. Every section starts systems of its own, drives loopback only, and ends by itself. LIMITS=1 (root)
/// puts nginx, the instances and PostgreSQL under their shares of 1.5 CPU; generators and processors stay outside.
/// </summary>
public static class BenchVerb
{
    // In the order in which a reader wants them; the value says whether a warm machine matters.
    private static readonly Dictionary<string, (Func<Bench, CancellationToken, Task> Run, bool Warm)> Sections = new()
    {
        ["saturation"] = (SaturationSection.RunAsync, true),
        ["inner"] = (InnerSections.RunInnerAsync, false),
        ["bytes"] = (InnerSections.RunBytesAsync, false),
    };

    private static readonly string[] Usual = ["saturation"];

    public static Command Create()
    {
        var sections = new Argument<string[]>("section")
        {
            Description = $"{string.Join(", ", Sections.Keys)}; without any: {string.Join(", ", Usual)}",
            Arity = ArgumentArity.ZeroOrMore,
        };
        sections.AcceptOnlyFromAmong([.. Sections.Keys]);
        var verb = new Command("bench", $"Speed in figures. Settings from the environment:\n{BenchSettings.Names}")
        {
            sections,
        };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(parsed.GetValue(sections) is { Length: > 0 } some ? some : Usual, cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(string[] sections, CancellationToken cancellation)
    {
        var settings = new BenchSettings(SystemSettings.FromEnvironment());
        await PrepareAsync(settings.System, sections, cancellation);
        var folder = Path.GetFullPath(settings.Out
            ?? Repository.PathOf("artifacts", "bench", $"{DateTime.UtcNow:yyyyMMdd-HHmmss}"));
        Directory.CreateDirectory(folder);
        await using var log = TextWriter.Synchronized(File.AppendText(Path.Combine(folder, "system.log")));
        var bench = new Bench(settings, folder, log);
        try
        {
            await MeasureAsync(bench, sections, cancellation);
        }
        catch (Exception failed) when (failed is HttpRequestException or TaskCanceledException
            && !cancellation.IsCancellationRequested)
        {
            throw new ToolException($"{failed.Message}; log: {folder}/system.log");
        }

        return 0;
    }

    private static async Task MeasureAsync(Bench bench, string[] sections, CancellationToken cancellation)
    {
        var limits = bench.Settings.System.Limits ? "nginx, instances and PostgreSQL under 1.5 CPU" : "no limits";
        var commit = await Commit.ReadAsync(cancellation);
        bench.Report.Tell($"Bench of {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC, commit {commit}, "
            + $"{Environment.ProcessorCount} cores, {limits}.");
        if (sections.Any(section => Sections[section].Warm))
            await bench.WarmMachineAsync(cancellation);
        foreach (var section in sections)
        {
            Console.WriteLine($"--- {section}");
            await Sections[section].Run(bench, cancellation);
        }

        if (bench.Machine.Busy is { Count: > 0 } busy)
        {
            bench.Report.Tell("");
            bench.Report.Tell(
                $"Not to be trusted: {busy.Count} runs began on a busy machine ({string.Join("; ", busy)}).");
        }

        Console.WriteLine($"report: {bench.Report.File}, raw rows: {bench.Folder}/rows.txt");
    }

    private static async Task PrepareAsync(
        SystemSettings settings, string[] sections, CancellationToken cancellation)
    {
        await Publishing.PrepareAsync(settings, cancellation);
        if (sections.Contains("saturation"))
        {
            Programs.Demand("wrk");
            await TestPrograms.PublishStubAsync(settings, cancellation);
        }

        if (sections.Intersect(["inner", "bytes"]).Any())
            await TestPrograms.PublishBenchmarksAsync(settings, cancellation);
    }
}

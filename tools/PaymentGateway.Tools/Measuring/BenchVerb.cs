using System.CommandLine;

namespace PaymentGateway.Tools.Measuring;

/// <summary>
/// Speed in figures. Every section starts systems of its own, drives loopback only, and ends by itself. LIMITS=1 (root)
/// puts nginx, the instances and PostgreSQL under their shares of 1.5 CPU; generators and processors stay outside.
/// </summary>
public static class BenchVerb
{
    private static readonly Dictionary<string, Func<Bench, CancellationToken, Task>> Sections = new()
    {
        ["saturation"] = (bench, cancellation) => bench.SaturateAsync(cancellation),
        ["inner"] = (bench, cancellation) => bench.RunInnerAsync(cancellation),
        ["bytes"] = (bench, cancellation) => bench.CountBytesAsync(cancellation),
    };

    public static Command Create()
    {
        var sections = new Argument<string[]>("section")
        {
            Description = $"{string.Join(", ", Sections.Keys)}; without any: saturation",
            Arity = ArgumentArity.ZeroOrMore,
        };
        sections.AcceptOnlyFromAmong([.. Sections.Keys]);
        var verb = new Command(
            "bench",
            "Speed in figures. Settings: LIMITS=1 ROUNDS SIDES SECONDS_EACH CONNECTIONS WARM_SECONDS TYPES=1 OUT")
        {
            sections,
        };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(parsed.GetValue(sections) is { Length: > 0 } some ? some : ["saturation"], cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(string[] sections, CancellationToken cancellation)
    {
        var settings = SystemSettings.FromEnvironment();
        await Publishing.PrepareAsync(settings, cancellation);
        var folder = Path.GetFullPath(settings["OUT"]
            ?? Repository.PathOf("artifacts", "bench", $"{DateTime.UtcNow:yyyyMMdd-HHmmss}"));
        Directory.CreateDirectory(folder);
        await using var log = TextWriter.Synchronized(File.AppendText(Path.Combine(folder, "system.log")));
        var bench = new Bench(settings, folder, log);
        bench.Tell($"Bench of {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC, commit {await Commit.ReadAsync(cancellation)}, "
            + $"{Environment.ProcessorCount} cores, "
            + (settings.Limits ? "nginx, instances and PostgreSQL under 1.5 CPU" : "no limits")
            + $", load average {await File.ReadAllTextAsync("/proc/loadavg", cancellation)}");
        try
        {
            foreach (var section in sections)
                await Sections[section](bench, cancellation);
        }
        catch (Exception failed) when (failed is HttpRequestException or TaskCanceledException
            && !cancellation.IsCancellationRequested)
        {
            throw new ToolException($"{failed.Message}; log: {folder}/system.log");
        }

        Console.WriteLine($"report: {bench.Report}");
        return 0;
    }
}

using System.CommandLine;
using System.Globalization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>The shares of docker-compose.yml: shown, and put on a system that runs.</summary>
internal static class LimitsVerb
{
    public static Command Create() => new("limits", "The shares of docker-compose.yml, natively.")
    {
        Verb("split", "Each part with its CPU and its megabytes, and the sums.", Show),
        Verb("heap", "What .NET allows its heap in an instance's container: bytes, hexadecimal.", () =>
            Console.WriteLine(ComposeSplit.HeapLimit())),
        Up(),
        Down(),
    };

    /// <summary>The lines of `limits split`.</summary>
    public static IEnumerable<string> Lines(IReadOnlyDictionary<string, PartShare> split)
    {
        foreach (var (part, share) in split)
            yield return Line(part, share.Cpus, share.MemoryMegabytes);
        yield return Line("sum", split.Values.Sum(one => one.Cpus), split.Values.Sum(one => one.MemoryMegabytes));
    }

    private static string Line(string name, decimal cpus, int megabytes) =>
        string.Create(CultureInfo.InvariantCulture, $"{name} {cpus:0.00} {megabytes}");

    private static void Show()
    {
        foreach (var line in Lines(ComposeSplit.Read()))
            Console.WriteLine(line);
    }

    private static Command Up()
    {
        var system = new Argument<string>("system-env") { Description = "What `up` wrote: RUN_DIR/system.env" };
        var state = StateArgument();
        var verb = new Command("up", "Puts a running system under them.") { system, state };
        verb.SetAction(parsed =>
        {
            // Not disposed: it lasts until `down`.
            var limits = PartLimits.Put(PidsIn(parsed.GetRequiredValue(system)), parsed.GetRequiredValue(state));
            foreach (var line in limits.Lines)
                Console.WriteLine(line);
        });
        return verb;
    }

    private static Command Down()
    {
        var state = StateArgument();
        var verb = new Command("down", "Takes the system out of them.") { state };
        verb.SetAction(parsed => PartLimits.Undo(parsed.GetRequiredValue(state)));
        return verb;
    }

    private static Argument<string> StateArgument() =>
        new("state") { Description = "Remembers what to undo; its line cpu_files= says where CPU time is counted" };

    private static Dictionary<string, int> PidsIn(string systemEnvironment) => File.ReadLines(systemEnvironment)
        .Select(line => line.Split('=', 2))
        .Where(pair => pair[0].EndsWith("_pid", StringComparison.Ordinal) && pair[1].Length > 0)
        .ToDictionary(
            pair => pair[0][..^"_pid".Length], pair => int.Parse(pair[1], CultureInfo.InvariantCulture));

    private static Command Verb(string name, string what, Action action)
    {
        var verb = new Command(name, what);
        verb.SetAction(_ => action());
        return verb;
    }
}

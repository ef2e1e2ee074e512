namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Builds the simulations of gatling/, and says how Maven is called.</summary>
internal static class Maven
{
    /// <summary>
    /// The command with its first arguments. A bundle of Maven artifacts beside the clone serves machines without a
    /// network; everyone else needs nothing of it.
    /// </summary>
    public static IReadOnlyList<string> Command { get; } =
    [
        "mvn", "-B", "-ntp", "-f", Repository.PathOf("gatling", "pom.xml"),
        .. Bundled ? new[] { "-s", BundlePath("settings.xml") } : [],
    ];

    public static IReadOnlyDictionary<string, string?> Variables { get; } =
        Bundled ? new Dictionary<string, string?> { ["MAVEN_MIRROR"] = BundlePath("repository") } : [];

    private static bool Bundled => File.Exists(BundlePath("settings.xml"));

    /// <summary>Compiles the simulations.</summary>
    /// <returns>Why no load can be run on this machine; null when all is well.</returns>
    /// <exception cref="ToolException">The fault is in gatling/ itself.</exception>
    public static async Task<string?> BuildAsync(CancellationToken cancellation)
    {
        // The compiler, not only the runtime: the simulations are compiled here.
        foreach (var program in new[] { "mvn", "javac" })
            if (!Programs.Has(program))
                return $"{program} is missing";

        var log = Repository.PathOf("artifacts", "gatling", "build.log");
        Directory.CreateDirectory(Path.GetDirectoryName(log)!);
        if (await LoggedCommand.RunAsync(
            [.. Command, "test-compile"], log, variables: Variables, cancellation: cancellation) == 0)
            return null;

        var errors = File.ReadLines(log).Where(line => line.StartsWith("[ERROR]", StringComparison.Ordinal));
        switch (MavenLog.ReasonIn(await File.ReadAllTextAsync(log, cancellation)))
        {
            case MavenFailure.NoRepositoryReachable:
                return $"Maven reaches neither a repository nor the bundle in ../shared/maven; log: {log}";
            case MavenFailure.DoesNotCompile:
                Show(errors.Take(20));
                throw new ToolException($"gatling/ does not compile; log: {log}");
            default:
                Show(errors.Take(5));
                throw new ToolException($"Maven failed; log: {log}");
        }
    }

    private static void Show(IEnumerable<string> lines)
    {
        foreach (var line in lines)
            Console.Error.WriteLine(line);
    }

    private static string BundlePath(string name) =>
        Path.GetFullPath(Path.Combine(Repository.Root, "..", "shared", "maven", name));
}

/// <summary>Why Maven failed: only the first is no fault of ours.</summary>
public enum MavenFailure
{
    NoRepositoryReachable,
    DoesNotCompile,
    Other,
}

/// <summary>Reads what Maven and its like wrote.</summary>
public static partial class MavenLog
{
    public const string Begins = "the load begins";
    public const string HasEnded = "the load has ended";

    private const string Running = "run: ";

    // Gatling's own line of an assertion that does not hold.
    private const string Broken = " : false (actual : ";

    public static MavenFailure ReasonIn(string log)
    {
        if (log.Contains("COMPILATION ERROR", StringComparison.Ordinal))
            return MavenFailure.DoesNotCompile;

        // A repository that answers was reached: it lacks what a wrong pom asks for.
        return Unreachable().IsMatch(log) && !Answered().IsMatch(log)
            ? MavenFailure.NoRepositoryReachable
            : MavenFailure.Other;
    }

    /// <summary>A line about the load's progress, or about a fault of it; null for all other lines.</summary>
    public static string? ProgressIn(string line) =>
        line.StartsWith(Running, StringComparison.Ordinal) ? line[Running.Length..]
        : line.Contains(Broken, StringComparison.Ordinal) ? line
        : null;

    [GeneratedRegex("Could not transfer|Cannot access .* in offline mode", RegexOptions.IgnoreCase)]
    private static partial Regex Unreachable();

    [GeneratedRegex("Could not find artifact|status code: 4", RegexOptions.IgnoreCase)]
    private static partial Regex Answered();
}

using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Builds the simulations of gatling/, and says how Maven is called.</summary>
internal static class Maven
{
    private const int JavaLeast = 17;

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
        if (await MissingAsync(cancellation) is { } lacking)
            return lacking;

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

    /// <summary>The simulations' own arithmetic, checked.</summary>
    public static Task<int> SelfTestAsync(CancellationToken cancellation) => Shell.ShowAsync(
        ["java", "-cp", Repository.PathOf("gatling", "target", "test-classes"), "paymentgateway.rig.SelfTest"],
        cancellation: cancellation);

    private static async Task<string?> MissingAsync(CancellationToken cancellation)
    {
        if (Programs.Find("mvn") is null)
            return "mvn is missing";

        // The compiler, not only the runtime: the simulations are compiled here.
        var major = Programs.Find("javac") is null
            ? 0
            : MavenLog.JavaMajor((await Shell.RunAsync(["javac", "-version"], cancellation: cancellation)).Output);
        return major >= JavaLeast
            ? null
            : $"a JDK {JavaLeast} or newer is needed, found {(major > 0 ? Figure.Of(major) : "none")}";
    }

    private static void Show(IEnumerable<string> lines)
    {
        foreach (var line in lines)
            Console.Error.WriteLine(line);
    }

    private static string BundlePath(string name) =>
        Path.GetFullPath(Path.Combine(Repository.Root, "..", "shared", "maven", name));
}

namespace PaymentGateway.Tests.Support;

/// <summary>What a whole system is made of, and where it is found: the scripts and what was published.</summary>
public static class GatewaySystemParts
{
    /// <summary>The script that starts and stops a system and its parts.</summary>
    public static string Script { get; } = Repository.PathOf("eng", "system");

    /// <summary>The gateway's published native binary.</summary>
    public static string Gateway { get; } = Binary("GATEWAY_BIN", "PaymentGateway");

    /// <summary>The simulator's published native binary.</summary>
    public static string Simulator { get; } = Binary("SIMULATOR_BIN", "ProcessorSimulator");

    /// <summary>Null when everything is here, or when missing parts must make the tests fail.</summary>
    public static string? SkipReason { get; } = FindSkipReason();

    private static string? FindSkipReason()
    {
        var missing = Missing().ToList();
        return missing.Count == 0 || Environment.GetEnvironmentVariable("PAYMENTGATEWAY_REQUIRE_PARTS") == "1"
            ? null
            : $"missing: {string.Join(", ", missing)} (eng/setup and eng/publish bring them)";
    }

    private static IEnumerable<string> Missing()
    {
        if (!OperatingSystem.IsLinux())
            yield return "Linux";
        if (!File.Exists(Gateway))
            yield return "the published gateway";
        if (!File.Exists(Simulator))
            yield return "the published simulator";
        if (!HasPostgres(Environment.GetEnvironmentVariable("PG_BIN"), "/usr/lib/postgresql"))
            yield return "PostgreSQL";
        var path = $"{Environment.GetEnvironmentVariable("PATH")}:/usr/sbin:/sbin";
        foreach (var tool in new[] { "nginx", "curl", "setsid", "make" })
            if (!path.Split(':').Any(folder => File.Exists(Path.Combine(folder, tool))))
                yield return tool;
    }

    private static bool HasPostgres(string? given, string installed) => given is null
        ? Directory.Exists(installed)
            && Directory.EnumerateFiles(installed, "postgres", SearchOption.AllDirectories).Any()
        : File.Exists(Path.Combine(given, "postgres"));

    private static string Binary(string variable, string project) =>
        Environment.GetEnvironmentVariable(variable)
        ?? Repository.PathOf(
            "artifacts", Environment.GetEnvironmentVariable("FRAMEWORK") ?? "", "publish", project, "release_linux-x64",
            project);
}

/// <summary>A fact that needs a whole system; skipped on a machine that cannot run one.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class GatewaySystemFactAttribute : FactAttribute
{
    public GatewaySystemFactAttribute() => Skip = GatewaySystemParts.SkipReason;
}

/// <summary>A theory that needs a whole system; skipped on a machine that cannot run one.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class GatewaySystemTheoryAttribute : TheoryAttribute
{
    public GatewaySystemTheoryAttribute() => Skip = GatewaySystemParts.SkipReason;
}

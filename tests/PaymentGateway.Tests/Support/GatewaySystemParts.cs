namespace PaymentGateway.Tests.Support;

/// <summary>What a whole system is made of: the published programs, and those that are installed.</summary>
public static class GatewaySystemParts
{
    public static string Gateway => GatewaySystemSettings.OfShell.GatewayBinary;

    public static string Simulator => GatewaySystemSettings.OfShell.SimulatorBinary;

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
        if (GatewaySystemSettings.OfShell.PostgresBinaries is not { } programs
            || !File.Exists(Path.Combine(programs, "postgres")))
            yield return "PostgreSQL";
        foreach (var tool in new[] { "nginx", "setsid", "make" })
            if (!Programs.Has(tool))
                yield return tool;
    }
}

/// <summary>A fact that needs a whole system; skipped on a machine that cannot run one.</summary>
public sealed class GatewaySystemFactAttribute : FactAttribute
{
    public GatewaySystemFactAttribute() => Skip = GatewaySystemParts.SkipReason;
}

/// <summary>A theory that needs a whole system; skipped on a machine that cannot run one.</summary>
public sealed class GatewaySystemTheoryAttribute : TheoryAttribute
{
    public GatewaySystemTheoryAttribute() => Skip = GatewaySystemParts.SkipReason;
}

namespace PaymentGateway.Tests.Support;

/// <summary>What a whole system is made of: the published programs, and those that are installed.</summary>
public static class GatewaySystemParts
{
    public static string Gateway => GatewaySystemSettings.OfShell.GatewayBinary;

    public static string Simulator => GatewaySystemSettings.OfShell.SimulatorBinary;

    /// <summary>Null when everything is here.</summary>
    public static string? SkipReason { get; } = FindSkipReason();

    private static string? FindSkipReason()
    {
        var missing = Missing().ToList();
        return missing.Count == 0
            ? null
            : $"lacks system: {string.Join(", ", missing)} (eng/setup and eng/publish bring them)";
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

/// <summary>A fact that needs a whole system.</summary>
public sealed class GatewaySystemFactAttribute() : NeedsFactAttribute(WholeSystem, GatewaySystemParts.SkipReason);

/// <summary>A theory that needs a whole system.</summary>
public sealed class GatewaySystemTheoryAttribute()
    : NeedsTheoryAttribute(NeedsFactAttribute.WholeSystem, GatewaySystemParts.SkipReason);

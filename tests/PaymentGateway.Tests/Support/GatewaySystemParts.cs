namespace PaymentGateway.Tests.Support;

/// <summary>The parts of a whole system: the published programs, and the installed ones.</summary>
public static class GatewaySystemParts
{
    public static string Gateway => GatewaySystemSettings.OfShell.GatewayBinary;

    public static string Simulator => GatewaySystemSettings.OfShell.SimulatorBinary;

    public static string? SkipReason { get; } = Missing().ToList() is { Count: > 0 } missing
        ? $"lacks system: {string.Join(", ", missing)} (eng/setup and eng/publish bring them)"
        : null;

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

public sealed class GatewaySystemFactAttribute() : NeedsFactAttribute(WholeSystem, GatewaySystemParts.SkipReason);

public sealed class GatewaySystemTheoryAttribute()
    : NeedsTheoryAttribute(NeedsFactAttribute.WholeSystem, GatewaySystemParts.SkipReason);

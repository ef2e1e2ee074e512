using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The loads by name.</summary>
internal static class Loads
{
    private static readonly OfficialLoad Preview = OfficialLoad.Preview;

    private static readonly OfficialLoad Final = OfficialLoad.Final;

    /// <summary>The part of preview or final that .ci/run plays.</summary>
    public static LoadPlan Short(string name, IEnumerable<string> properties, SystemSettings settings) =>
        Of(name, [.. (name == "final" ? Final : Preview).Short, .. properties], settings);

    /// <param name="name">preview and final, each with its stub, and nginx are the sides of a comparison.</param>
    public static LoadPlan Of(string name, IReadOnlyList<string> properties, SystemSettings settings) => name switch
    {
        "preview" => Preview.OfGateway(name, properties, settings),
        "final" => Final.OfGateway(name, properties, settings),
        "stress" => OfGateway(name, "Stress", properties, settings),
        "saturation" => OfGateway(name, "Saturation", properties, settings),
        "soak" => OfGateway(name, "Soak", properties, settings),
        "audit" => OfGateway(name, "Audit", properties, settings),
        "stub" => Preview.Bare(name, "stub", SideKind.Stub, properties),
        "stub-final" => Final.Bare(name, "stub", SideKind.Stub, properties),
        "nginx" => Preview.Bare(name, "nginx alone", SideKind.NginxAlone, properties),
        _ => throw new ToolException($"no such side: {name}; it may be preview, stub, nginx, final or stub-final"),
    };

    private static LoadPlan OfGateway(
        string name, string simulation, IReadOnlyList<string> properties, SystemSettings settings) =>
        new(name, simulation, settings.Profile, SideKind.Gateway, properties);
}

/// <summary>A load of the challenge: what the simulation of its name does not know itself.</summary>
/// <param name="Short">The properties that shorten it for .ci/run, at the slope of the whole one.</param>
internal sealed record OfficialLoad(
    string Simulation, string DefaultFee, string FallbackFee, IReadOnlyList<string> Short)
{
    // Half of the time. A processor that said it is slow is tried again after its next health report, up to 5.2 s
    // later, which are not scaled: a quarter left 5 s after the recovery, and sometimes a lag.
    public static OfficialLoad Preview { get; } =
        new("Preview", "0.05", "0.15", ["-Dseconds=30", "-Dusers=276", "-DwarmUpSeconds=3"]);

    // A fifth of the time: a stage of 6 s outlasts a health report.
    public static OfficialLoad Final { get; } =
        new("Final", "0.07", "0.10", ["-Dseconds=60", "-Dusers=121", "-DwarmUpSeconds=3"]);

    public LoadPlan OfGateway(string name, IReadOnlyList<string> properties, SystemSettings settings) =>
        new(name, Simulation, settings.Profile, SideKind.Gateway, properties)
        {
            Settings = [("DEFAULT_FEE", DefaultFee), ("FALLBACK_FEE", FallbackFee)],
        };

    /// <summary>The payments alone, at what only answers 202.</summary>
    public LoadPlan Bare(string name, string mode, SideKind side, IReadOnlyList<string> properties) =>
        new($"baseline-{name}", Simulation, mode, side, ["-Dbare=true", .. properties]);
}

/// <summary>What to run against what.</summary>
/// <param name="Name">Of the results' folder.</param>
/// <param name="Mode">What the row says was measured.</param>
/// <param name="Properties">-Dname=value for the simulation.</param>
internal sealed record LoadPlan(
    string Name, string Simulation, string Mode, SideKind Side, IReadOnlyList<string> Properties)
{
    /// <summary>What the load says of the system that is started for it.</summary>
    public (string Name, string? Value)[] Settings { get; init; } = [];
}

using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The loads by name.</summary>
internal static class Loads
{
    private const string Official = "OfficialLoad";

    // Half of the time at the same slope. A processor that said it is slow is tried again after its next health report,
    // up to 5.2 s later, which are not scaled: a quarter left 5 s after the recovery, and sometimes a lag.
    private static readonly string[] Scale = ["-Dseconds=30", "-Dusers=276", "-DwarmUpSeconds=3"];

    public static LoadPlan Short(IEnumerable<string> properties, SystemSettings settings) =>
        Of("official", [.. Scale, .. properties], settings);

    /// <param name="name">official, stub and nginx are the sides of a comparison.</param>
    public static LoadPlan Of(string name, IReadOnlyList<string> properties, SystemSettings settings) => name switch
    {
        "official" => OfGateway(name, Official, properties, settings),
        "stress" => OfGateway(name, "Stress", properties, settings),
        "saturation" => OfGateway(name, "Saturation", properties, settings),
        "soak" => OfGateway(name, "Soak", properties, settings),
        "audit" => OfGateway(name, "Audit", properties, settings),
        "stub" => new LoadPlan("baseline-stub", Official, "stub", SideKind.Stub, ["-Dbare=true", .. properties]),
        "nginx" => new LoadPlan(
            "baseline-nginx", Official, "nginx alone", SideKind.NginxAlone, ["-Dbare=true", .. properties]),
        _ => throw new ToolException($"no such side: {name}; it may be official, stub or nginx"),
    };

    private static LoadPlan OfGateway(
        string name, string simulation, IReadOnlyList<string> properties, SystemSettings settings) =>
        new(name, simulation, settings.Acknowledge, SideKind.Gateway, properties);
}

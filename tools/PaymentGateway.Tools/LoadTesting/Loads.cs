using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Running;

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

using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.LoadTesting;

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

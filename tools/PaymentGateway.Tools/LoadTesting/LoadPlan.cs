using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

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

using System.Globalization;

namespace PaymentGateway.Tools.Running;

/// <summary>A payment processor of ours, instead of an outside one.</summary>
internal sealed class SimulatorPart(string name) : Part(name)
{
    public override void Check(SystemLayout system)
    {
        if (!File.Exists(system.Settings.SimulatorBinary))
            throw new ToolException($"{system.Settings.SimulatorBinary} is missing: make publish");
        Readiness.RefuseTaken($"the {Name} processor", PortIn(system));
    }

    public override Task LaunchAsync(SystemLayout system, PartLauncher launcher, CancellationToken cancellation)
    {
        Check(system);
        launcher.Launch(
            system, Name, Path.GetDirectoryName(system.Settings.SimulatorBinary)!, [system.Settings.SimulatorBinary],
            new Dictionary<string, string?>
            {
                ["ASPNETCORE_URLS"] = string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{PortIn(system)}"),
                ["Simulator__FeePerTransaction"] = FeeIn(system),
            });
        return Task.CompletedTask;
    }

    public override Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation) =>
        Task.FromResult(Readiness.Listens(PortIn(system)));

    private string FeeIn(SystemLayout system) =>
        Name == PartNames.Default ? system.Settings.DefaultFee : system.Settings.FallbackFee;

    private int PortIn(SystemLayout system) =>
        Name == PartNames.Default ? system.Settings.DefaultPort : system.Settings.FallbackPort;
}

namespace PaymentGateway.Tools.Running;

/// <summary>One of the two gateways.</summary>
internal sealed class InstancePart(string name) : Part(name)
{
    public override TimeSpan StopLimit => TimeSpan.FromSeconds(15);

    public override void Check(SystemLayout system)
    {
        if (!File.Exists(system.Settings.GatewayBinary))
            throw new ToolException($"{system.Settings.GatewayBinary} is missing: make publish");
        if (!system.Settings.SharesAdmin)
            Readiness.RefuseTaken(Name, system.AdminPortOf(Name));
    }

    public override Task LaunchAsync(SystemLayout system, PartLauncher launcher, CancellationToken cancellation)
    {
        Check(system);
        var binary = system.Settings.GatewayBinary;
        launcher.Launch(system, Name, Path.GetDirectoryName(binary)!, [binary], InstanceEnvironment.Of(system, Name));
        return Task.CompletedTask;
    }

    public override Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation) =>
        Readiness.IsReadyAsync(system.SocketOf(Name), cancellation);
}

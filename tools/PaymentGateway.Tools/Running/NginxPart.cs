using System.Globalization;

namespace PaymentGateway.Tools.Running;

/// <summary>The entry point: it opens last and closes first.</summary>
internal sealed class NginxPart() : Part(PartNames.Nginx)
{
    /// <summary>What nginx.conf includes as upstreams.conf, here and in compose.</summary>
    public static string Upstreams => Repository.PathOf("nginx", "upstreams", "one-machine.conf");

    // Ends what is in flight; TERM would not.
    public override Signal StopSignal => Signal.Quit;

    public override void Check(SystemLayout system)
    {
        if (!Programs.Has("nginx"))
            throw new ToolException("nginx is missing: eng/setup");
        Readiness.RefuseTaken("nginx", system.Settings.Port);
    }

    public override async Task LaunchAsync(
        SystemLayout system, PartLauncher launcher, CancellationToken cancellation)
    {
        Check(system);
        var prefix = system.Folder.NginxPrefix;
        Directory.CreateDirectory(prefix);
        // The port is all that differs between systems side by side.
        var configuration = await File.ReadAllTextAsync(Repository.PathOf("nginx", "nginx.conf"), cancellation);
        await File.WriteAllTextAsync(
            Path.Combine(prefix, "nginx.conf"),
            configuration.Replace(
                "listen 9999",
                string.Create(CultureInfo.InvariantCulture, $"listen {system.Settings.Port}"),
                StringComparison.Ordinal),
            cancellation);
        File.Copy(Upstreams, Path.Combine(prefix, "upstreams.conf"), overwrite: true);
        // The working directory is what `unix:sockets/…` in the file hangs on; in compose it is /.
        launcher.Launch(
            system, Name, system.ShortDirectory,
            ["nginx", "-p", $"{prefix}/", "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;"], []);
    }

    public override Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation) =>
        Readiness.IsReadyAsync(system.Settings.Port, cancellation);

    // A killed master leaves its worker behind, and the worker the port.
    public override async Task ClearAfterAsync(RunFolder folder)
    {
        if (folder.LastPidOf(Name) is not { } master)
            return;
        // Their parent is somebody else now; their group is still the master's.
        foreach (var worker in ProcessStatus.All().Where(one => one.Group == master && one.Name == "nginx").ToList())
        {
            Posix.Send(worker.Pid, Signal.Kill);
            await Waiting.UntilAsync(() => ProcessStatus.ReadLiving(worker.Pid)?.Born != worker.Born);
        }
    }
}

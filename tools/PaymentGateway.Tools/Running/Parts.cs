using System.Net.Sockets;

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

/// <summary>What a gateway is told by its environment.</summary>
internal static class InstanceEnvironment
{
    private const string Processors = "DOTNET_PROCESSOR_COUNT";
    private const string YoungMax = "DOTNET_GCGen0MaxBudget";
    private const string Token = "Gateway__Admin__Token";
    private const string Purge = "Gateway__Admin__Purge";
    private const string Profile = "Gateway__Storage__Profile";
    private const string DefaultUrl = "Gateway__Processors__Default__BaseUrl";
    private const string FallbackUrl = "Gateway__Processors__Fallback__BaseUrl";

    private static readonly Dictionary<string, string> Variables = new(StringComparer.OrdinalIgnoreCase)
    {
        [Profile] = "PROFILE=durable or unlogged",
        [DefaultUrl] = "DEFAULT_URL",
        [FallbackUrl] = "FALLBACK_URL",
        ["Gateway__Admin__Urls"] = "ADMIN_PORT",
        ["Gateway__Instance__Name"] = "no name: an instance has that of its part",
    };

    /// <summary>The variable with the URL of a relay before a processor.</summary>
    public static string RelayOf(string processor) => $"RELAY_{processor.ToUpperInvariant()}_URL";

    /// <exception cref="ToolException">The caller says something that a start would overrule.</exception>
    public static void RefuseOverruled(SystemSettings settings)
    {
        foreach (var (name, _) in settings.OfGateway())
            if (Variables.TryGetValue(name, out var variable))
                throw new ToolException($"{name} would be overruled here; say {variable}");
        if (settings is { HasOutsideLedger: true, Fresh: true })
            throw new ToolException("FRESH=1 empties no LEDGER of your own; say FRESH=0, and PaymentGateway purge");
    }

    public static Dictionary<string, string?> Of(SystemLayout system, string instance)
    {
        var settings = system.Settings;
        // Tests put relays of theirs between an instance and its database, and before the processors.
        var ledger = settings["RELAY_DIR"] is { } relays
            ? Path.Combine(relays, instance)
            : system.PostgresSocketDirectory;
        var environment = new Dictionary<string, string?>
        {
            ["ASPNETCORE_URLS"] = $"http://unix:{system.SocketOf(instance)}",
            ["Gateway__Admin__Urls"] = system.AdminUrlOf(instance),
            ["ConnectionStrings__Ledger"] = settings.ConnectionString(ledger),
            ["Gateway__Instance__Name"] = instance,
            [DefaultUrl] = BaseUrlOf(PartNames.Default),
            [FallbackUrl] = BaseUrlOf(PartNames.Fallback),
            // For the challenge and measurements; the gateway's own defaults are Operator and Durable. A ledger that is
            // meant to last is not emptied by everyone who can pay.
            [Purge] = settings[Purge] ?? (settings.Durable ? "Operator" : "Everyone"),
            [Profile] = settings.Durable ? "Durable" : "Unlogged",
            // As in a container, where the runtime would count a third of a core as one.
            [Processors] = settings[Processors] ?? "2",
            // Hexadecimal, 4 MiB: else the young generation takes 4/5 of the processor's cache, whoever shares it.
            [YoungMax] = settings[YoungMax] ?? "400000",
        };
        foreach (var further in settings.Further)
        {
            environment[$"Gateway__Processors__{further}__BaseUrl"] = BaseUrlOf(further);
            environment[$"Gateway__Processors__{further}__Fee"] = settings.FeeOf(further);
        }

        if (settings.Token is { } token)
            environment[Token] = token;
        return environment;

        string BaseUrlOf(string processor) => settings[RelayOf(processor)] ?? settings.UrlOf(processor);
    }
}

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
                ["Simulator__FeePerTransaction"] = system.Settings.FeeOf(Name),
            });
        return Task.CompletedTask;
    }

    public override Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation) =>
        Task.FromResult(Readiness.Listens(PortIn(system)));

    private int PortIn(SystemLayout system) => system.Settings.PortOf(Name);
}

/// <summary>The entry point: it opens last and closes first.</summary>
internal sealed class NginxPart() : Part(PartNames.Nginx)
{
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
        // The port differs between systems side by side, and not every kernel has IPv6.
        var port = system.Settings.Port.ToString(CultureInfo.InvariantCulture);
        var configuration = (await File.ReadAllTextAsync(Repository.PathOf("nginx", "nginx.conf"), cancellation))
            .Replace("listen 9999", $"listen {port}", StringComparison.Ordinal);
        if (Socket.OSSupportsIPv6)
            configuration = configuration.Replace(
                "#listen [::]:9999", $"listen [::]:{port}", StringComparison.Ordinal);
        // A measurement of nginx alone: it answers by itself.
        if (system.Settings["NGINX_ALONE"] is not null)
            configuration = configuration.Replace(
                "proxy_pass http://gateway;", "return 202;", StringComparison.Ordinal);
        // A load reads there how long each request took, from its first byte to the answer's last.
        if (system.Settings["NGINX_TIMES"] is { } times)
            configuration = configuration.Replace(
                "access_log off;",
                $"log_format times '$request_time $request_method $uri'; access_log {times} times buffer=64k flush=1s;",
                StringComparison.Ordinal);
        await File.WriteAllTextAsync(Path.Combine(prefix, "nginx.conf"), configuration, cancellation);
        File.Copy(
            Repository.PathOf("nginx", "upstreams", "one-machine.conf"), Path.Combine(prefix, "upstreams.conf"),
            overwrite: true);
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

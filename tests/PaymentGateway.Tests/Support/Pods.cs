using static PaymentGateway.Tests.Support.Manifests;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// The pods of ops/kubernetes without a cluster: published binaries, each with its manifest's environment, arguments,
/// user, rights, read-only root and mounted secrets, and with a host name of its own. The ports and the processors'
/// URLs are the test's; PostgreSQL has the roles of postgres/roles.sql and is reached by TCP.
/// </summary>
internal sealed class Pods : IAsyncDisposable, IComparedSystem
{
    public const string Instance = "Deployment";
    public const string Migration = "Job";
    public const string Token = "a token of Prometheus";

    // A file system of the process's own, in which all that is not the kernel's is read-only. The program has a folder
    // there as in its image, because the pod's user may not enter the folders above the clone's (a home, say).
    private const string Start = """
        secrets=$1 at=$2 name=$3 user=$4 group=$5 arguments=$6 program=$7
        mount --make-rprivate /
        mount -t tmpfs tmpfs /run
        mkdir -p "$at" /run/app
        mount --bind "$secrets" "$at"
        mount --bind "${program%/*}" /run/app
        cd /run/app
        hostname "$name"
        cut -d ' ' -f 5 /proc/self/mountinfo | grep -vE '^/(proc|sys|dev)(/|$)' | while read -r place; do
          mount -o remount,bind,ro "$place" 2>/dev/null || ! mountpoint -q "$place"
        done
        exec setpriv --reuid="$user" --regid="$group" --clear-groups --bounding-set=-all --inh-caps=-all \
          --no-new-privs -- "./${program##*/}" $arguments
        """;

    // A network of this process, because PostgreSQL's own port is one for all.
    private static readonly string Address =
        $"127.2.{Environment.ProcessId >> 8 & 255}.{Environment.ProcessId & 255}";

    private readonly DirectoryInfo _secrets = Directory.CreateTempSubdirectory("payment-gateway-pods.");
    private readonly PostgresServer _server;
    private readonly List<Pod> _running = [];

    private Pods(PostgresServer server, SimulatedProcessor atDefault, SimulatedProcessor atFallback)
    {
        _server = server;
        Processors = new Dictionary<string, SimulatedProcessor>
        {
            [PartNames.Default] = atDefault,
            [PartNames.Fallback] = atFallback,
        };
        Database = new GatewaySystemDatabase(
            server.ConnectionString("gateway"), () => throw new NotSupportedException("the server has it"));
    }

    public static string? SkipReason { get; } = GatewaySystemParts.SkipReason
        ?? (Environment.IsPrivilegedProcess ? null : "lacks root: only root may give a process its own file system");

    public GatewaySystemDatabase Database { get; }

    public IReadOnlyDictionary<string, SimulatedProcessor> Processors { get; }

    public SimulatedProcessor Default => Processors[PartNames.Default];

    public IEnumerable<HttpClient> RunningInstances() => _running.Select(pod => pod.Client);

    public static async Task<Pods> UpAsync()
    {
        var server = await PostgresServer.StartAsync(durable: true, listen: Address);
        var pods = new Pods(
            server, await SimulatedProcessor.StartAsync(),
            await SimulatedProcessor.StartAsync(feePerTransaction: 0.15m));
        var made = await Shell.RunAsync(
        [
            Path.Combine(PostgresServer.Binaries!, "psql"), "-h", server.Directory, "-U", "postgres", "-v",
            "ON_ERROR_STOP=1", "-qf", Repository.PathOf("postgres", "roles.sql"),
        ]);
        Assert.True(made.Succeeded, made.Output + made.Errors);
        await pods.MountAsync("gateway-owner", ("ConnectionStrings__Ledger", LedgerAs("gateway_owner")));
        await pods.MountAsync(
            "gateway", ("ConnectionStrings__Ledger", LedgerAs("gateway")),
            ("Gateway__Admin__Tokens__prometheus__Token", Token), ("ca.crt", "of no setting"));
        return pods;
    }

    public Pod StartPod(string kind, string name)
    {
        var (spec, container) = (PodOf(kind), ContainerOf(kind));
        var user = spec["securityContext"]!;
        var mount = Assert.Single(container["volumeMounts"]!.AsArray())!;
        var secret = spec["volumes"]!.AsArray().Single(one => Text(one!["name"]) == Text(mount["name"]))!["secret"]!;
        var ports = (container["ports"]?.AsArray() ?? []).ToDictionary(
            one => Text(one!["name"]), one => (Written: Text(one!["containerPort"]), Free: FreePort()));
        var settings = EnvironmentOf(kind, name);
        foreach (var (key, value) in settings.ToList())
            settings[key] = ports.Values.Aggregate(value, (text, port) => text!.Replace(
                $":{port.Written}", $":{port.Free}", StringComparison.Ordinal));
        foreach (var (processor, simulator) in Processors)
            foreach (var key in settings.Keys.Where(key => key.Equals(
                $"Gateway__Processors__{processor}__BaseUrl", StringComparison.OrdinalIgnoreCase)).ToList())
                settings[key] = simulator.BaseAddress.ToString();

        var process = GatewaySystemInstance.Start(
            settings, "unshare", "--mount", "--uts", "bash", "-euc", Start, "bash",
            Path.Combine(_secrets.FullName, Text(secret["secretName"])), Text(mount["mountPath"]), name,
            Text(user["runAsUser"]), Text(user["runAsGroup"]), string.Join(' ', Texts(container["args"])));
        var pod = new Pod(process, ports.ToDictionary(port => port.Key, port => ClientOf(port.Value.Free)));
        if (kind == Instance)
            _running.Add(pod);
        return pod;
    }

    public async Task<Pod> ReadyPodAsync(string name)
    {
        var pod = StartPod(Instance, name);
        await Eventually.HoldsAsync(() => pod.PassesAsync("readinessProbe"), $"the pod {name} is ready");
        return pod;
    }

    /// <summary>It is asked no more for its summary.</summary>
    public void Forget(Pod pod) => _running.Remove(pod);

    public async ValueTask DisposeAsync()
    {
        foreach (var pod in _running)
            await pod.DisposeAsync();
        foreach (var processor in Processors.Values)
            await processor.DisposeAsync();
        await _server.DisposeAsync();
        _secrets.Delete(recursive: true);
    }

    private static string LedgerAs(string role) =>
        $"Host={Address};Username={role};Database=gateway;Multiplexing=true;Maximum Pool Size=10";

    private static string FreePort() => GatewaySystemSettings.FreePort();

    private static HttpClient ClientOf(string port) => UnixHttp.Plain(new Uri($"http://127.0.0.1:{port}"));

    // As the kubelet lays a secret: links to a folder of this version, for the pod's group alone.
    private async Task MountAsync(string secret, params (string Key, string Value)[] files)
    {
        var folder = _secrets.CreateSubdirectory(secret);
        var version = folder.CreateSubdirectory("..2026_11_28");
        File.CreateSymbolicLink(Path.Combine(folder.FullName, "..data"), version.Name);
        foreach (var (key, value) in files)
        {
            await File.WriteAllTextAsync(Path.Combine(version.FullName, key), value);
            File.CreateSymbolicLink(Path.Combine(folder.FullName, key), Path.Combine("..data", key));
        }

        var volume = PodOf(secret == "gateway" ? Instance : Migration);
        var mode = Text(Assert.Single(volume["volumes"]!.AsArray())!["secret"]!["defaultMode"]);
        var given = await Shell.RunAsync(
        [
            "sh", "-ec", "chmod \"$2\" \"$1\"/..2026*/* && chown -R 0:\"$3\" \"$1\" && chmod 750 \"$1\" \"$1\"/..2026*",
            "sh", folder.FullName, mode, Text(volume["securityContext"]!["fsGroup"]),
        ]);
        Assert.True(given.Succeeded, given.Output + given.Errors);
    }
}

/// <summary>A running pod of the instances, or of the migration, and clients of its ports.</summary>
internal sealed record Pod(GatewaySystemInstance Process, IReadOnlyDictionary<string, HttpClient> Ports)
    : IAsyncDisposable
{
    public HttpClient Client => Ports["http"];

    public HttpClient Operator => Ports["operator"];

    /// <summary>Whether a probe of the manifest succeeds now.</summary>
    public Task<bool> PassesAsync(string probe)
    {
        var get = ContainerOf(Pods.Instance)[probe]!["httpGet"]!;
        return Eventually.IsReadyAsync(Ports[Text(get["port"])], Text(get["path"]));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var client in Ports.Values)
            client.Dispose();
        await Process.DisposeAsync();
    }
}

public sealed class PodFactAttribute() : NeedsFactAttribute(WholeSystem, Pods.SkipReason);

public sealed class PodTheoryAttribute() : NeedsTheoryAttribute(NeedsFactAttribute.WholeSystem, Pods.SkipReason);

using System.Diagnostics;
using System.Net.Sockets;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// An engine in a scratch folder. It has namespaces of its own for processes, mounts and the network, so nobody's ports
/// and packet filter are touched, and killing its first process removes everything that it started. That is a power cut
/// for the containers, too.
/// </summary>
internal sealed class OwnEngine : IEngine
{
    // dockerd with what it needs, in a session of its own. `unshare` is killed with us, the engine with `unshare`, all
    // else in the process namespace with the engine.
    private static readonly string[] Detached =
    [
        "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
        "--mount-proc", "--", "sh", "-c", "exec </dev/null >>\"$0\" 2>&1; ip link set lo up; exec \"$@\"",
    ];

    private static readonly TimeSpan StartLimit = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);

    private readonly string _scratch;
    private readonly Dictionary<string, string?> _variables;
    private Task _unshared = Task.CompletedTask;
    private int? _first;

    public OwnEngine(string packages, string scratch)
    {
        _scratch = scratch;
        Client = $"{packages}/usr/bin/docker";
        var plugins = Directory.CreateDirectory(At("config/cli-plugins"));
        Directory.CreateDirectory(At("data"));
        foreach (var plugin in Directory.GetFiles($"{packages}/usr/libexec/docker/cli-plugins"))
            File.CreateSymbolicLink(Path.Combine(plugins.FullName, Path.GetFileName(plugin)), plugin);
        _variables = new Dictionary<string, string?>
        {
            ["PATH"] = $"{packages}/usr/bin:{packages}/usr/sbin:{Programs.SearchPath}",
            ["DOCKER_HOST"] = $"unix://{At("docker.sock")}",
            ["DOCKER_CONFIG"] = At("config"),
            ["COMPOSE_PROJECT_NAME"] = Docker.Project,
        };
    }

    public bool IsOwn => true;

    public string Group { get; } = $"payment-gateway-compose.{Environment.ProcessId}";

    public string Client { get; }

    public IReadOnlyDictionary<string, string?> Variables => _variables;

    private int First => _first ?? throw new InvalidOperationException("The engine does not run.");

    public async Task StartAsync(CancellationToken cancellation)
    {
        foreach (var left in new[] { At("docker.pid"), At("docker.sock") })
            File.Delete(left);
        if (Directory.Exists(At("run")))
            Directory.Delete(At("run"), recursive: true);

        var started = Launch();
        var waited = Stopwatch.StartNew();
        while (waited.Elapsed < StartLimit && !started.HasExited)
        {
            _first ??= ProcessTree.ChildrenOf(started.Id).Cast<int?>().FirstOrDefault();
            if (_first is not null && (await Shell.RunAsync(
                [Client, "version"], variables: _variables, cancellation: cancellation)).Succeeded)
                return;
            await Task.Delay(PollInterval, cancellation);
        }

        var said = File.Exists(At("engine.log")) ? File.ReadLines(At("engine.log")).TakeLast(20) : [];
        await Console.Error.WriteLineAsync(string.Join('\n', said));
        throw new ToolException("the engine did not start");
    }

    /// <summary>Ends all of it at once, as a power cut does.</summary>
    public async Task KillAsync()
    {
        if (_first is { } pid)
            Posix.Send(pid, Signal.Kill);
        _first = null;
        await _unshared;
    }

    public IReadOnlyList<string> Inside(params string[] command) =>
        ["nsenter", "--target", $"{First}", "--net", "--mount", "--pid", "--", .. command];

    public Socket NewSocket() => NetworkNamespace.NewSocket(First);

    public async ValueTask DisposeAsync()
    {
        await KillAsync();
        for (var attempt = 0; attempt < 50 && !CgroupsAreGone(); attempt++)
            await Task.Delay(PollInterval);
    }

    private string At(string path) => Path.Combine(_scratch, path);

    // The kernel takes a parent's death for that of the thread that made the child. So a thread of its own waits here.
    private Process Launch()
    {
        var start = new ProcessStartInfo("setsid", [
            .. Detached, At("engine.log"), "dockerd", "--host", $"unix://{At("docker.sock")}",
            "--data-root", At("data"), "--exec-root", At("run"), "--pidfile", At("docker.pid"),
            "--storage-driver", "overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs",
            "--cgroup-parent", $"/{Group}",
        ])
        {
            // All three, or .NET takes the terminal for the child's.
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (var (name, value) in _variables)
            start.Environment[name] = value;
        var started = new TaskCompletionSource<Process>();
        var ended = new TaskCompletionSource();
        new Thread(() =>
        {
            try
            {
                var process = Process.Start(start)!;
                started.SetResult(process);
                process.WaitForExit();
            }
            catch (Exception broken)
            {
                started.TrySetException(broken);
            }
            finally
            {
                ended.SetResult();
            }
        })
        { IsBackground = true }.Start();
        _unshared = ended.Task;
        return started.Task.GetAwaiter().GetResult();
    }

    private bool CgroupsAreGone()
    {
        try
        {
            var left = Directory.EnumerateDirectories("/sys/fs/cgroup", $"{Group}*", SearchOption.AllDirectories);
            foreach (var group in left.ToList())
                Remove(group);
            return true;
        }
        catch (IOException)
        {
            return false; // Its last processes are still ending.
        }
    }

    private static void Remove(string group)
    {
        foreach (var inner in Directory.GetDirectories(group))
            Remove(inner);
        Directory.Delete(group);
    }
}

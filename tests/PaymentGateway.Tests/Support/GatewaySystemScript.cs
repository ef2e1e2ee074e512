using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// eng/system with a run directory and ports of its own. A test run that is broken off stops its systems too.
/// </summary>
public sealed partial class GatewaySystemScript
{
    private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(90);
    private static readonly ConcurrentDictionary<GatewaySystemScript, bool> Running = new();

    // What the caller of the tests may have set for a system of their own.
    private static readonly string[] Foreign =
    [
        "DEFAULT_URL", "FALLBACK_URL", "PROFILE", "ACKNOWLEDGE", "MULTIPLEXING", "POOL", "TOKEN", "FRESH", "PG_ARGS",
        "RELAY_DIR", "RELAY_DEFAULT_URL", "RELAY_FALLBACK_URL",
    ];

    private readonly Dictionary<string, string> variables;

    static GatewaySystemScript() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
    {
        foreach (var (script, _) in Running)
            script.RunAsync(["down"]).Wait(TimeSpan.FromSeconds(10));
    };

    public GatewaySystemScript(IEnumerable<(string Name, string Value)> settings)
    {
        RunDirectory = Path.Combine(Path.GetTempPath(), $"payment-gateway-tests.{Path.GetRandomFileName()}");
        var ports = FreePorts(3);
        variables = new Dictionary<string, string>
        {
            ["NO_PUBLISH"] = "1",
            ["RUN_DIR"] = RunDirectory,
            ["PORT"] = ports[0],
            ["DEFAULT_PORT"] = ports[1],
            ["FALLBACK_PORT"] = ports[2],
            ["GATEWAY_BIN"] = GatewaySystemParts.Gateway,
            ["SIMULATOR_BIN"] = GatewaySystemParts.Simulator,
        };
        foreach (var (name, value) in settings)
            variables[name] = value;
    }

    public string RunDirectory { get; }

    /// <summary>A part's TCP port, known before the part is there.</summary>
    public int PortOf(string variable) => int.Parse(variables[variable], CultureInfo.InvariantCulture);

    /// <summary>A variable for every start of a part from now on.</summary>
    public void Set(string name, string value) => variables[name] = value;

    /// <summary>The directory of the sockets, as soon as a start has made it.</summary>
    public string ReadSocketDirectory() => ShortDirectory()
        .Match(File.ReadAllText(Path.Combine(RunDirectory, "settings"))).Groups[1].Value;

    /// <summary>The settings of the gateway among those given.</summary>
    public IEnumerable<KeyValuePair<string, string>> GatewaySettings =>
        variables.Where(variable => variable.Key.StartsWith("Gateway__", StringComparison.Ordinal));

    public string Setting(string name, string otherwise) => variables.GetValueOrDefault(name, otherwise);

    public async Task UpAsync()
    {
        Running[this] = true;
        try
        {
            await RunAsync(["up"]);
        }
        catch
        {
            await DownAsync();
            throw;
        }
    }

    public async Task DownAsync()
    {
        await RunAsync(["down"]);
        Running.TryRemove(this, out _);
        if (Directory.Exists(RunDirectory))
            Directory.Delete(RunDirectory, recursive: true);
    }

    /// <summary>Runs the script to its end; what it says is in the failure when it fails.</summary>
    public async Task RunAsync(string[] arguments)
    {
        using var script = Start(GatewaySystemParts.Script, arguments);
        using var limit = new CancellationTokenSource(TimeLimit);
        var output = script.StandardOutput.ReadToEndAsync(limit.Token);
        var errors = script.StandardError.ReadToEndAsync(limit.Token);
        await script.WaitForExitAsync(limit.Token);
        var said = await output + await errors;
        Assert.True(script.ExitCode == 0, $"eng/system {string.Join(' ', arguments)} failed:\n{said}");
    }

    /// <summary>Starts a program with the variables of this system.</summary>
    public Process Start(string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = Repository.Root,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        Clean(start.Environment);
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        return Process.Start(start)!;
    }

    /// <summary>Addresses and pids as the script has written them.</summary>
    public Dictionary<string, string> ReadState() => File.ReadAllLines(Path.Combine(RunDirectory, "system.env"))
        .Select(line => line.Split('=', 2)).ToDictionary(pair => pair[0], pair => pair[1]);

    /// <summary>Takes what the surrounding shell set for gateways out of a child's environment.</summary>
    public static void Clean(IDictionary<string, string?> environment)
    {
        foreach (var name in environment.Keys.ToList())
            if (name.StartsWith("Gateway__", StringComparison.Ordinal) || Foreign.Contains(name))
                environment.Remove(name);
    }

    [GeneratedRegex(@"\bshort_dir=(\S+)")]
    private static partial Regex ShortDirectory();

    // Below the range from which the kernel takes ports for outgoing connections.
    private static string[] FreePorts(int count)
    {
        var ports = new HashSet<int>();
        while (ports.Count < count)
        {
            var port = Random.Shared.Next(20_000, 30_000);
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                socket.Bind(new IPEndPoint(IPAddress.Any, port));
                ports.Add(port);
            }
            catch (SocketException)
            {
                // Taken: the next one.
            }
        }

        return ports.Select(port => $"{port}").ToArray();
    }
}

using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.NetworkInformation;

namespace PaymentGateway.Tests.Support;

/// <summary>`make run` in a process group of its own, as a terminal has it, beside everything else that runs.</summary>
public sealed class MakeRun : IAsyncDisposable
{
    private const int Interrupt = 2;

    private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(90);
    private static readonly string[] Ports = ["PORT", "DEFAULT_PORT", "FALLBACK_PORT"];

    private readonly GatewaySystemScript script;
    private readonly Process make;
    private readonly ConcurrentQueue<string> said = new();
    private readonly Task hearing;
    private readonly Task<string> errors;
    private readonly Dictionary<int, string> descendants = [];
    private DirectoryInfo? sockets;

    private MakeRun(GatewaySystemScript script)
    {
        this.script = script;
        // A shell that started the tests in the background has them ignore Ctrl-C, and they their children. The outer
        // make, where the tests run in one, is none of this one's business.
        make = script.Start(
            "env", "--default-signal=INT", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "LC_ALL=C", "setsid", "make", "run");
        hearing = HearAsync();
        errors = make.StandardError.ReadToEndAsync();
    }

    /// <param name="settings">Variables of eng/run or of the gateway.</param>
    /// <param name="before">Sees the ports before anything is started.</param>
    public static MakeRun Start(
        IEnumerable<(string Name, string Value)> settings, Action<GatewaySystemScript>? before = null)
    {
        var script = new GatewaySystemScript(settings);
        before?.Invoke(script);
        return new MakeRun(script);
    }

    /// <summary>Waits until it says that it is ready.</summary>
    public async Task IsReadyAsync()
    {
        var waited = Stopwatch.StartNew();
        while (!said.Any(line => line.Contains("Ctrl-C stops it", StringComparison.Ordinal)))
        {
            Assert.False(make.HasExited, make.HasExited ? await errors : "");
            Assert.True(waited.Elapsed < TimeLimit, $"not ready after {TimeLimit}: {string.Join('\n', said)}");
            await Task.Delay(20);
        }

        NoteDescendants(make.Id);
        sockets = new FileInfo(script.ReadState()["api1_socket"]).Directory!.Parent;
        Assert.True(sockets!.Exists);
        Assert.All(Ports, port => Assert.True(Listens(port), $"{port} is taken"));
    }

    /// <summary>Where the gateway listens.</summary>
    public Uri Address => new($"http://127.0.0.1:{script.PortOf("PORT")}");

    /// <summary>kill -9 of a part.</summary>
    public void Kill(string part) => GatewaySystemInstance.Signal(
        int.Parse(script.ReadState()[$"{part}_pid"], null), GatewaySystemInstance.Kill);

    /// <summary>Ctrl-C: the terminal tells the whole group.</summary>
    public void PressControlC() => GatewaySystemInstance.Signal(-make.Id, Interrupt);

    /// <summary>Waits for its end.</summary>
    /// <returns>What it said is wrong, line by line: make's own line is the last one.</returns>
    public async Task<string[]> EndAsync()
    {
        await make.WaitForExitAsync().WaitAsync(TimeLimit);
        await hearing;
        return (await errors).Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }

    /// <summary>No process, no directory of sockets, no port but those that are somebody else's.</summary>
    public async Task LeavesNothingAsync(params string[] others)
    {
        await Eventually.HoldsAsync(
            () => !descendants.Any(one => StartOf(one.Key) == one.Value), "no process of it is left");
        Assert.All(Ports.Except(others), port => Assert.False(Listens(port), $"{port} is taken still"));
        sockets?.Refresh();
        Assert.False(sockets?.Exists);
    }

    public async ValueTask DisposeAsync()
    {
        if (!make.HasExited)
        {
            PressControlC();
            await make.WaitForExitAsync().WaitAsync(TimeLimit);
        }

        make.Dispose();
        // What a run that is broken has left behind.
        await script.DownAsync();
    }

    private async Task HearAsync()
    {
        while (await make.StandardOutput.ReadLineAsync() is { } line)
            said.Enqueue(line);
    }

    private bool Listens(string port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners()
        .Any(one => one.Port == script.PortOf(port) && !one.Address.Equals(IPAddress.IPv6Any));

    private void NoteDescendants(int parent)
    {
        foreach (var folder in Directory.GetDirectories("/proc"))
        {
            if (int.TryParse(Path.GetFileName(folder), null, out var pid) && Stat(pid) is { } stat
                && stat[1] == $"{parent}" && descendants.TryAdd(pid, stat[19]))
                NoteDescendants(pid);
        }
    }

    // By it a process is known from a later one with its number; null when it has ended.
    private static string? StartOf(int pid) => Stat(pid) is { } stat && stat[0] != "Z" ? stat[19] : null;

    // The name in brackets may hold blanks; the state and the parent follow it.
    private static string[]? Stat(int pid)
    {
        try
        {
            var line = File.ReadAllText($"/proc/{pid}/stat");
            return line[(line.LastIndexOf(')') + 2)..].Split(' ');
        }
        catch (IOException)
        {
            return null;
        }
    }
}

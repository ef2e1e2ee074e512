using System.Net.NetworkInformation;

namespace PaymentGateway.Tests.Support;

/// <summary>`make run` in a process group of its own, as a terminal has it, beside everything else that runs.</summary>
public sealed class MakeRun : IAsyncDisposable
{
    private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(90);
    private static readonly string[] Ports = ["PORT", "DEFAULT_PORT", "FALLBACK_PORT", "ADMIN_PORT"];

    private readonly SystemSettings _settings;
    private readonly NativeSystem _native;
    private readonly Process _make;
    private readonly ConcurrentQueue<string> _said = new();
    private readonly Task _hearing;
    private readonly Task<string> _errors;
    private List<ProcessStatus> _descendants = [];
    private DirectoryInfo? _sockets;

    private MakeRun(SystemSettings settings)
    {
        _settings = settings;
        _native = new NativeSystem(settings);
        // A shell that started the tests in the background has them ignore Ctrl-C, and they their children. The outer
        // make, where the tests run in one, is none of this one's business.
        _make = Start(
            "env", "--default-signal=INT", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "LC_ALL=C", "setsid", "make", "run");
        _hearing = HearAsync();
        _errors = _make.StandardError.ReadToEndAsync();
    }

    public static MakeRun Start(
        IEnumerable<(string Name, string Value)> settings, Action<SystemSettings>? before = null)
    {
        var own = GatewaySystemSettings.Of(
            [("ADMIN_PORT", $"{GatewaySystemSettings.TwoFreePorts()}"), .. settings]);
        before?.Invoke(own);
        return new MakeRun(own);
    }

    public async Task IsReadyAsync()
    {
        var waited = Stopwatch.StartNew();
        while (!_said.Any(line => line.Contains("Ctrl-C stops it", StringComparison.Ordinal)))
        {
            Assert.False(_make.HasExited, _make.HasExited ? await _errors : "");
            Assert.True(waited.Elapsed < TimeLimit, $"not ready after {TimeLimit}: {string.Join('\n', _said)}");
            await Task.Delay(20);
        }

        _descendants = ProcessTree.Of(_make.Id).Skip(1).Select(ProcessStatus.Read).OfType<ProcessStatus>().ToList();
        _sockets = new FileInfo(_native.SocketOf(GatewaySystem.First)).Directory!.Parent;
        Assert.True(_sockets!.Exists);
        Assert.All(Ports, port => Assert.True(Listens(port), $"{port} is taken"));
    }

    public Uri Address => new(_native.Url);

    public void Kill(string part) => Posix.Send(_native.PidOf(part)!.Value, Signal.Kill);

    /// <summary>Ctrl-C: the terminal tells the whole group.</summary>
    public void PressControlC() => Posix.Send(-_make.Id, Signal.Interrupt);

    /// <returns>The lines on standard error; make's own line is the last one.</returns>
    public async Task<string[]> EndAsync()
    {
        await _make.WaitForExitAsync().WaitAsync(TimeLimit);
        await _hearing;
        return (await _errors).Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }

    /// <summary>No process, no directory of sockets, no port but those that are somebody else's.</summary>
    public async Task LeavesNothingAsync(params string[] others)
    {
        await Eventually.HoldsAsync(
            () => !_descendants.Exists(one => ProcessStatus.ReadLiving(one.Pid)?.Born == one.Born),
            "no process of it is left");
        Assert.All(Ports.Except(others), port => Assert.False(Listens(port), $"{port} is taken still"));
        _sockets?.Refresh();
        Assert.False(_sockets?.Exists ?? false);
    }

    public async ValueTask DisposeAsync()
    {
        if (!_make.HasExited)
        {
            PressControlC();
            await _make.WaitForExitAsync().WaitAsync(TimeLimit);
        }

        _make.Dispose();
        // A broken run leaves processes and a directory behind.
        await _native.DownAsync();
        if (Directory.Exists(_native.RunDirectory))
            Directory.Delete(_native.RunDirectory, recursive: true);
    }

    public static int PortOf(SystemSettings settings, string variable) => int.Parse(settings[variable]!, null);

    private Process Start(string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = Repository.Root,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment.Clear();
        foreach (var (name, value) in _settings.Variables)
            start.Environment[name] = value;
        return Process.Start(start)!;
    }

    private async Task HearAsync()
    {
        while (await _make.StandardOutput.ReadLineAsync() is { } line)
            _said.Enqueue(line);
    }

    private bool Listens(string port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners()
        .Any(one => one.Port == PortOf(_settings, port) && !one.Address.Equals(IPAddress.IPv6Any));
}

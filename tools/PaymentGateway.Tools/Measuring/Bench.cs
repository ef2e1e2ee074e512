using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>What all sections of a measurement share: settings, report, sides and loads.</summary>
internal sealed class Bench(BenchSettings settings, string folder, TextWriter log)
{
    private const int WarmUpRun = 9999;
    private const int SideWarmUpRun = 9998;

    public BenchSettings Settings => settings;

    public string Folder => folder;

    public Report Report { get; } = new(folder);

    public MachineIdleness Machine { get; } = new(settings.RefusesBusy);

    private SystemSettings Own { get; } =
        FreePorts.Added(settings.System.With(("RUN_DIR", Path.Combine(folder, "run"))));

    /// <summary>Ready and limited. By name, as SIDES has them.</summary>
    public Task<Side> StartAsync(string side, CancellationToken cancellation)
    {
        var (kind, changed) = KindOf(side);
        return Side.StartAsync(kind, changed, log, cancellation);
    }

    /// <summary>A gateway of which nothing runs yet.</summary>
    public Side Prepare() => Side.Of(SideKind.Gateway, Own, log);

    /// <summary>
    /// The machine as a whole is warmed once (page cache, clocks), each side briefly after its start: thirty seconds
    /// for every side of every round would be half of the bench.
    /// </summary>
    public async Task WarmMachineAsync(CancellationToken cancellation)
    {
        if (settings.WarmSeconds == 0)
            return;

        await Machine.AwaitAsync("the warm-up", cancellation);
        Console.WriteLine($"warming up for {settings.WarmSeconds} s");
        await using var side = await StartAsync("stored", cancellation);
        await Wrk.PayAsync(side.Url, settings.Connections, settings.WarmSeconds, WarmUpRun, cancellation);
    }

    public static async Task WarmSideAsync(Side side, CancellationToken cancellation)
    {
        await Wrk.PayAsync(side.Url, connections: 8, seconds: 2, SideWarmUpRun, cancellation);
        await Task.Delay(TimeSpan.FromSeconds(1), cancellation);
    }

    private (SideKind Kind, SystemSettings Changed) KindOf(string side) => side switch
    {
        "nginx-alone" => (SideKind.NginxAlone, Own),
        "stub" => (SideKind.Stub, Own),
        "stored" => (SideKind.Gateway, Own),
        "stored-durable" => (SideKind.Gateway, Own.With(("PROFILE", "durable"))),
        "stored-plain" => (SideKind.Gateway, Own.With(("MULTIPLEXING", "false"))),
        _ => throw new ToolException($"no such side: {side}"),
    };
}

using System.Diagnostics;

namespace PaymentGateway.Tools.Containers;

/// <summary>The peak memory of each container under four loads, read twice a second.</summary>
internal sealed class PeakLoads(Rig rig, MemoryKills kills)
{
    private static readonly string[] Watched = ["nginx", "api1", "api2", "postgres", "payment-processor-default"];
    private static readonly string[] Results = ["result", "| 2", "Requests/sec"];
    private static readonly string Gateway = $"http://127.0.0.1:{EngineClients.Ports[0]}";
    private static readonly TimeSpan Between = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan DrainLimit = TimeSpan.FromMinutes(2);

    private readonly Dictionary<string, string> _containers = [];

    public async Task<int> MeasureAsync()
    {
        if (!rig.Docker.Engine.IsOwn || !Directory.Exists("/sys/fs/cgroup/memory"))
            throw new ToolException("peaks needs an engine of its own and version 1 of the cgroups");
        if (!Programs.Has("wrk"))
            await EngineCache.SetUpAsync(["wrk"], rig.Docker.Cancellation);
        if (!await rig.UpAsync(new ContainerStep()))
            throw new ToolException("the stack did not start");
        foreach (var service in Watched)
            _containers[service] = await rig.Stack.IdOfAsync(service);

        Console.WriteLine("| container | own and kernel, MiB | own | kernel | page cache | CPU s |");
        Console.WriteLine("| --- | --- | --- | --- | --- | --- |");
        await MeasureAsync("the preview", PreviewAsync);
        await MeasureAsync("256 connections for 60 s", () => BurstAsync(9001, 256));
        await SettleAsync(SettleLimit);
        await MeasureAsync("1,200 connections for 60 s", () => BurstAsync(9002, 1_200));
        await SettleAsync(SettleLimit);
        await MeasureAsync("a drain of 50,000", DrainAsync);
        var killed = kills.Take();
        Console.WriteLine($"killed for memory: {(killed.Count == 0 ? "none" : string.Join(' ', killed))}");
        return 0;
    }

    private async Task MeasureAsync(string name, Func<Task<string>> loadAsync)
    {
        var peaks = new MemoryPeaks();
        using var over = new CancellationTokenSource();
        var watching = WatchAsync(peaks, over.Token);
        var said = await loadAsync();
        await over.CancelAsync();
        await watching;
        Console.WriteLine($"### {name}: {said}");
        foreach (var row in peaks.Rows())
            Console.WriteLine(row);
    }

    private async Task WatchAsync(MemoryPeaks peaks, CancellationToken over)
    {
        using var timer = new PeriodicTimer(Between);
        try
        {
            do
            {
                foreach (var (service, container) in _containers)
                    peaks.Add(service, MemorySample.Read(rig.Docker.Engine.Group, container));
            }
            while (await timer.WaitForNextTickAsync(over));
        }
        catch (OperationCanceledException)
        {
            // The load is over.
        }
    }

    private Task<string> PreviewAsync() =>
        LoadAsync("env", $"URL={Gateway}", Repository.PathOf("eng", "tool"), "load", "preview");

    private Task<string> BurstAsync(int run, int connections, int? count = null) => LoadAsync(
        "env", $"BENCH_RUN={run}", $"BENCH_COUNT={count}", "wrk", "-t2", $"-c{connections}", "-d60s",
        "-s", Repository.PathOf("tools", "PaymentGateway.Tools", "Measuring", "Load", "bench.lua"),
        $"{Gateway}/payments");

    private async Task<string> DrainAsync()
    {
        await rig.Http.SetFailureAsync(true);
        var said = await BurstAsync(9003, 128, 50_000);
        var took = Stopwatch.StartNew();
        await rig.Http.SetFailureAsync(false);
        var settled = await SettleAsync(DrainLimit);
        return settled
            ? $"{said} drained in {(int)took.Elapsed.TotalSeconds} s"
            : $"{said} not drained in {(int)took.Elapsed.TotalSeconds} s";
    }

    private Task<bool> SettleAsync(TimeSpan limit) => rig.WaitAsync(limit, rig.Ledger.NothingIsUnsettledAsync);

    private async Task<string> LoadAsync(params string[] command)
    {
        var ended = await rig.Docker.RunInsideAsync(command);
        var lines = $"{ended.Output}{ended.Errors}".Trim().Split('\n');
        var said = string.Join(' ', lines.Where(line => Array.Exists(Results, line.StartsWith)));
        return ended.Succeeded ? said : $"{said} (the load ended with {ended.Status}: {lines[^1]})";
    }
}

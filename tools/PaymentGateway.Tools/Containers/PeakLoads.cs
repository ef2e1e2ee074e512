using CliWrap;
using PaymentGateway.Tools.Paying;

namespace PaymentGateway.Tools.Containers;

/// <summary>The peak memory of each container under four loads, read once a second.</summary>
internal sealed class PeakLoads(Rig rig, MemoryKills kills)
{
    private static readonly string[] Results = ["result", "| 2", "Requests/sec"];
    private static readonly string Gateway = $"http://127.0.0.1:{EngineClients.Ports[0]}";
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan DrainLimit = TimeSpan.FromMinutes(2);

    public async Task<int> MeasureAsync()
    {
        Programs.Demand("wrk");
        if (!await rig.UpAsync(new ContainerStep()))
            throw new ToolException("the stack did not start");
        Console.WriteLine("| container | MiB |");
        Console.WriteLine("| --- | --- |");
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
        var peaks = new SortedDictionary<string, double>(StringComparer.Ordinal);
        using var over = CancellationTokenSource.CreateLinkedTokenSource(rig.Docker.Cancellation);
        var watching = WatchAsync(peaks, over.Token);
        var said = await loadAsync();
        await over.CancelAsync();
        await watching;
        Console.WriteLine($"### {name}: {said}");
        foreach (var (service, megabytes) in peaks)
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"| {service} | {megabytes:0.0} |"));
    }

    // Once a second: own and kernel memory, without page cache that the kernel takes back.
    private static async Task WatchAsync(SortedDictionary<string, double> peaks, CancellationToken over)
    {
        try
        {
            await (Docker.Command("stats", "--format", "{{.Name}} {{.MemUsage}}") | Note).ExecuteAsync(over);
        }
        catch (OperationCanceledException)
        {
            // The load is over.
        }

        void Note(string line)
        {
            if (MemoryUse.Parse(line) is { } use)
                peaks[use.Service] = Math.Max(use.Mebibytes, peaks.GetValueOrDefault(use.Service));
        }
    }

    private Task<string> PreviewAsync() =>
        LoadAsync("env", $"URL={Gateway}", Repository.PathOf("eng", "tool"), "load", "preview");

    private Task<string> BurstAsync(int run, int connections) => LoadAsync(
        "env", $"BENCH_RUN={run}", "wrk", "-t2", $"-c{connections}", "-d60s",
        "-s", Repository.PathOf("tools", "PaymentGateway.Tools", "Measuring", "bench.lua"),
        $"{Gateway}/payments");

    private async Task<string> DrainAsync()
    {
        await rig.Http.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(rig.Http.Clients, new LoadLedger(), 128, 50_000, TimeSpan.Zero);
        var took = Stopwatch.StartNew();
        await rig.Http.SetFailureAsync(false);
        var settled = await SettleAsync(DrainLimit);
        return $"{(settled ? "drained" : "not drained")} in {(int)took.Elapsed.TotalSeconds} s";
    }

    private Task<bool> SettleAsync(TimeSpan limit) => rig.WaitAsync(limit, rig.Ledger.NothingIsUnsettledAsync);

    private async Task<string> LoadAsync(params string[] command)
    {
        var ended = await Shell.RunAsync(command, cancellation: rig.Docker.Cancellation);
        var lines = $"{ended.Output}{ended.Errors}".Trim().Split('\n');
        var said = string.Join(' ', lines.Where(line => Array.Exists(Results, line.StartsWith)));
        return ended.Succeeded ? said : $"{said} (the load ended with {ended.Status}: {lines[^1]})";
    }
}

/// <summary>A container's memory in a line of `docker stats`.</summary>
public sealed partial record MemoryUse(string Service, double Mebibytes)
{
    /// <summary>Null for other lines; escapes that clear the screen may stand before the name.</summary>
    public static MemoryUse? Parse(string line)
    {
        var match = Pattern().Match(line);
        if (!match.Success)
            return null;

        var size = double.Parse(match.Groups[2].ValueSpan, CultureInfo.InvariantCulture);
        return new MemoryUse(match.Groups[1].Value, match.Groups[3].Value switch
        {
            "GiB" => size * 1024,
            "KiB" => size / 1024,
            _ => size,
        });
    }

    [GeneratedRegex(Docker.Project + @"-(\S+)-1 ([0-9.]+)([KMG]iB) /")]
    private static partial Regex Pattern();
}

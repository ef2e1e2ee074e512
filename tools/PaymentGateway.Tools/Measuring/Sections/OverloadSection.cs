using System.Diagnostics;
using System.Globalization;
using PaymentGateway.Tools.Measuring.Load;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>
/// More clients than nginx lets in, for minutes: what is past the bounds is refused, and nothing acknowledged is lost.
/// </summary>
internal static class OverloadSection
{
    private const string Name = "overload";
    private const string Agree = "agree";

    // It is in every id.
    private const int Run = 1;

    private static readonly TimeSpan SettleLimit = TimeSpan.FromHours(1);

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        DemandFiles(settings.OverloadConnections);
        await bench.Machine.AwaitAsync(Name, cancellation);
        await using var side = await bench.StartAsync("stored", cancellation);
        await using var memory = new MemoryWatch(side);
        var database = new SideDatabase(side);
        using var client = new GatewayClient(side.System.Settings);
        await Bench.WarmSideAsync(side, cancellation);
        var known = await database.CountAsync("payments", cancellation);
        var before = side.Cpu();

        var load = await Wrk.PayAsync(
            side.Url, settings.OverloadConnections, settings.OverloadSeconds, Run, cancellation);
        var ended = Stopwatch.StartNew();
        var acknowledged = load.Requests - load.Refused;
        var atEnd = await database.CountAsync("settlements", cancellation);
        // What was on its way when wrk left may still be stored, for as long as a statement may run.
        await Task.Delay(TimeSpan.FromSeconds(7), cancellation);
        var all = await database.CountAsync("payments", cancellation);
        // Of this run alone, so that the warm-up's payments cannot stand in for lost ones.
        var stored = await database.CountAsync(
            $"payments WHERE correlation_id::text LIKE '________-{Run:x4}-%'", cancellation);
        Console.WriteLine($"  {acknowledged} acknowledged, {load.Refused} refused, {stored} stored, "
            + $"{all - atEnd} waited when it ended");
        await client.AwaitSettledAsync(all, SettleLimit, cancellation);
        var (waited, cpu) = ((int)ended.Elapsed.TotalSeconds, (side.Cpu() - before).Per(all - known));

        var (ledger, charged) = (await client.LedgerAsync(cancellation), await client.ChargedAsync(cancellation));
        var agrees = ledger == charged && await client.SettledAsync(cancellation) == all
            && stored >= acknowledged && load.Refused > 0;
        bench.Report.Row(
            Name, "stored",
            [Figure.Of(acknowledged), Figure.Of((long)(acknowledged / load.Seconds)), Figure.Of(load.Refused),
                Figure.Of(load.P50Ms, 3), Figure.Of(load.P99Ms, 3), Figure.Of(all - atEnd), Figure.Of(waited),
                .. cpu.Figures(), .. (await memory.StopAsync()).Figures(), agrees ? Agree : "WRONG"]);
        Tell(bench.Report, settings);
        if (!agrees)
            throw new ToolException($"acknowledged {acknowledged}, stored {stored}, all {all}; ledger {ledger}; "
                + $"processors {charged}");
    }

    private static void Tell(Report report, BenchSettings settings)
    {
        report.Table(
            $"Overload: {settings.OverloadConnections} connections for {settings.OverloadSeconds} s, then until "
            + "everything stored is settled; CPU with the refusals",
            "side", "acknowledged", "per s", "refused (503)", "p50 ms of all answers", "p99 ms", "waiting at the end",
            "settled after s", "CPU s / 1,000", "nginx", "instances", "PostgreSQL", "whole PSS, MiB", "instance PSS",
            "instance resident", "ledger and processors");
        report.MedianRows(Name, ["stored"], ..);
    }

    // nginx serves 1,024; a client that cannot open more would never be past the bounds. The runtime has raised the
    // soft limit to the hard one, and wrk has what we have.
    private static void DemandFiles(int connections)
    {
        var line = File.ReadLines("/proc/self/limits")
            .First(line => line.StartsWith("Max open files", StringComparison.Ordinal));
        var soft = line["Max open files".Length..].Trim().Split(' ')[0];
        if (soft != "unlimited" && int.Parse(soft, CultureInfo.InvariantCulture) <= connections + 50)
            throw new ToolException($"ulimit -n is {soft}, too low for {connections} connections");
    }
}

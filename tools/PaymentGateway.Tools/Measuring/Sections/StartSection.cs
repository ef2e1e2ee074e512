using System.Diagnostics;
using System.Globalization;
using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>An instance from its start until it is ready, what the system holds in memory, and the binary.</summary>
internal static class StartSection
{
    private const string Name = "start";
    private const string Instance = PartNames.Second;
    private const int LoadSeconds = 20;
    private static readonly TimeSpan ReadyLimit = TimeSpan.FromSeconds(10);

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        await bench.Machine.AwaitAsync(Name, cancellation);
        await using var side = await bench.StartAsync("stored", cancellation);
        await Task.Delay(TimeSpan.FromSeconds(5), cancellation);
        var idle = side.Meter.Memory().Figures();
        await using var memory = new MemoryWatch(side);
        await Bench.PayAsync(side, settings.Rate, LoadSeconds, cancellation);
        var peak = (await memory.StopAsync()).Figures();
        for (var start = 1; start <= settings.Starts; start++)
            bench.Report.Row(Name, Instance, Figure.Of(await TimeStartAsync(side.System, cancellation), 1));
        bench.Report.Row("memory", "idle", idle);
        bench.Report.Row("memory", "peak", peak);

        bench.Report.Table(
            $"Start to ready of one instance, database there, {settings.Starts} starts; memory (PSS) after "
            + $"{settings.Rate}/s for {LoadSeconds + 2} s",
            "ready ms: least", "median", "most", "MiB idle: whole", "one", "resident", "peak: whole", "one", "resident",
            "binary");
        var times = bench.Report.Rows.Column(Name, Instance, 0)
            .OrderBy(time => double.Parse(time, CultureInfo.InvariantCulture)).ToList();
        var megabytes = new FileInfo(side.System.Settings.GatewayBinary).Length / 1_000_000;
        bench.Report.TableRow(
            [times[0], Figure.MedianOf(times), times[^1], .. idle, .. peak, $"{megabytes} MB"]);
    }

    private static async Task<double> TimeStartAsync(NativeSystem system, CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        var socket = system.SocketOf(Instance);
        // Once for nothing, so that the tries that count are compiled.
        ReadyWatch.IsReady(socket);
        await system.StopAsync(Instance);
        var ready = Task.Factory.StartNew(
            () => ReadyWatch.Await(socket, ReadyLimit), cancellation, TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        var started = Stopwatch.GetTimestamp();
        await system.StartAsync([Instance], cancellation);
        return await ready is { } then
            ? Stopwatch.GetElapsedTime(started, then).TotalMilliseconds
            : throw new ToolException($"the instance was not ready within {ReadyLimit.TotalSeconds} s");
    }
}

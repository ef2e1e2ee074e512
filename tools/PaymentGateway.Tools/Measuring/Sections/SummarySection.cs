using System.Globalization;
using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>
/// GET /payments-summary over ledgers of several sizes, alone and while payments arrive; and what a payment costs
/// there.
/// </summary>
internal static class SummarySection
{
    private const string Name = "summary";
    private const int WindowSeconds = 10;

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        Console.WriteLine(
            "summary rows all_p50 p99 10s_p50 p99, busy: all_p50 p99 10s_p50 p99; post_p50 p99 CPU/1000 … failed");
        foreach (var rows in settings.SummaryRows)
            await SummariseAsync(bench, rows, cancellation);

        bench.Report.Table(
            $"Summary, {settings.SummaryRate}/s at fixed moments, ms; windows of 10 s anywhere in the ledger, across "
            + "buckets",
            "settlements", "all p50", "p99", "10 s p50", "p99", $"with {settings.Rate}/s: all p50", "p99", "10 s p50",
            "p99");
        bench.Report.MedianRows(Name, settings.SummaryRows, ..8);
        bench.Report.Table(
            $"A payment over the same ledger, {settings.Rate}/s, nobody asking: POST ms, and CPU s / 1,000 until "
            + "settled",
            "settlements", "p50", "p99", "CPU s / 1,000", "nginx", "instances", "PostgreSQL", "failed (all)");
        bench.Report.MedianRows(Name, settings.SummaryRows, 8..15);
    }

    /// <param name="rows">Settlements in the ledger.</param>
    private static async Task SummariseAsync(Bench bench, string rows, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        await using var side = bench.Prepare();
        await side.System.StartAsync([PartNames.Postgres], cancellation);
        var database = new SideDatabase(side);
        await database.FillAsync(rows, settings.Rate, cancellation);
        await bench.Machine.AwaitAsync($"summary over {rows}", cancellation);
        await side.StartTheRestAsync(cancellation);
        await Bench.WarmSideAsync(side, cancellation);
        using var client = new GatewayClient(side.System.Settings);
        var known = await client.SettledAsync(cancellation) ?? 0;
        var before = side.Cpu();
        var post = await Bench.PayAsync(side, settings.Rate, seconds: 10, cancellation);
        await client.AwaitSettledAsync(known + post.Accepted, bench.SettleLimit, cancellation);
        var cpu = (side.Cpu() - before).Per(post.Accepted);

        var alone = await AskBothAsync(bench, side, database, cancellation);
        // Long enough for both questions with their leads; ended when they are answered.
        await using var load = new BackgroundLoad(
            side, settings.Rate, 4 * settings.SummarySeconds + 20, cancellation);
        await Task.Delay(TimeSpan.FromSeconds(2), cancellation);
        var busy = await AskBothAsync(bench, side, database, cancellation);
        var during = await load.EndAsync();
        LoadResult[] loads = [.. alone, .. busy, post];

        bench.Report.Row(
            Name, rows,
            [.. loads.SelectMany(each => new[] { Figure.Of(each.P50Ms, 2), Figure.Of(each.P99Ms, 2) }),
                .. cpu.Figures(), Figure.Of(loads.Append(during).Sum(each => each.Failed)),
                "POST_p99_asked", Figure.Of(during.P99Ms, 2)]);
    }

    /// <summary>Of everything, then windows anywhere.</summary>
    private static async Task<LoadResult[]> AskBothAsync(
        Bench bench, Side side, SideDatabase database, CancellationToken cancellation)
    {
        var all = await AskAsync(bench, side, new SummaryCall(null), cancellation);
        var bounds = (await database.QueryAsync(
                "SELECT extract(epoch FROM min(requested_at)), extract(epoch FROM max(requested_at)) FROM settlements",
                cancellation))
            .Split(' ').Select(bound => double.Parse(bound, CultureInfo.InvariantCulture)).ToArray();
        var windows = new SummaryWindows(bounds[0], bounds[1], WindowSeconds);
        return [all, await AskAsync(bench, side, new SummaryCall(windows), cancellation)];
    }

    private static async Task<LoadResult> AskAsync(Bench bench, Side side, ICall call, CancellationToken cancellation)
    {
        var asked = await FixedRate.RunAsync(
            side.Url, bench.Settings.SummaryRate, bench.Settings.SummarySeconds, call, cancellation);
        cancellation.ThrowIfCancellationRequested();
        return asked;
    }
}

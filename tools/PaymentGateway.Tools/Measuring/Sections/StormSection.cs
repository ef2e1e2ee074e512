using System.Globalization;
using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>Payments at a fixed rate while others ask for summaries as fast as they can: who is charged then.</summary>
internal static class StormSection
{
    private const string Name = "storm";

    public static async Task RunAsync(Bench bench, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        Console.WriteLine(
            "storm windows charges/s before, during, after; POST failed, p50, p99; summaries/s, 503/s, p50, p99; "
            + "leases");
        foreach (var windows in settings.StormWindows)
            await StormAsync(bench, windows, cancellation);

        bench.Report.Table(
            $"{settings.StormRate} payments/s while {settings.StormConnections} connections ask for summaries, for "
            + $"{settings.StormSeconds} s, over {settings.StormRows} settlements; POST ms are of the whole run",
            "windows", "charges/s before", "during", "after", "POST failed", "p50 ms", "p99 ms", "summaries/s", "503/s",
            "p50 ms", "p99 ms", "leases");
        bench.Report.MedianRows(Name, settings.StormWindows, ..);
    }

    /// <param name="windows">same or distinct.</param>
    private static async Task StormAsync(Bench bench, string windows, CancellationToken cancellation)
    {
        var settings = bench.Settings;
        await bench.Machine.AwaitAsync($"a storm of {windows} windows", cancellation);
        await using var side = bench.Prepare();
        await side.System.StartAsync([PartNames.Postgres], cancellation);
        var database = new SideDatabase(side);
        await database.FillAsync(settings.StormRows, settings.Rate, cancellation);
        await side.StartTheRestAsync(cancellation);
        await Bench.WarmSideAsync(side, cancellation);
        using var client = new GatewayClient(side.System.Settings);
        await AwaitAllSettledAsync(bench, client, database, cancellation);

        await using var load = new BackgroundLoad(
            side, settings.StormRate, 3 * settings.StormSeconds + 12, cancellation);
        // The generator compiles itself for two seconds; a storm needs a moment to be one.
        await Task.Delay(TimeSpan.FromSeconds(4), cancellation);
        var before = await StretchAsync(settings.StormSeconds, cancellation);
        var bounds = await database.QueryAsync(
            "SELECT floor(extract(epoch FROM min(requested_at)))::bigint, "
            + "ceil(extract(epoch FROM max(requested_at)))::bigint FROM settlements", cancellation);
        var storm = Wrk.AskSummariesAsync(
            side.Url, settings.StormConnections, settings.StormSeconds + 2, $"{windows} {bounds}", cancellation);
        await Task.Delay(TimeSpan.FromSeconds(1), cancellation);
        var during = await StretchAsync(settings.StormSeconds, cancellation);
        var asked = await storm;
        await Task.Delay(TimeSpan.FromSeconds(2), cancellation);
        var after = await StretchAsync(settings.StormSeconds, cancellation);
        var post = await load.Result;
        cancellation.ThrowIfCancellationRequested();
        await AwaitAllSettledAsync(bench, client, database, cancellation);

        bench.Report.Row(
            Name, windows,
            await ChargedAsync(database, before, cancellation), await ChargedAsync(database, during, cancellation),
            await ChargedAsync(database, after, cancellation), Figure.Of(post.Failed), Figure.Of(post.P50Ms, 2),
            Figure.Of(post.P99Ms, 2), Figure.Of((long)((asked.Requests - asked.Refused) / asked.Seconds)),
            Figure.Of((long)(asked.Refused / asked.Seconds)), Figure.Of(asked.P50Ms, 3), Figure.Of(asked.P99Ms, 3),
            Figure.Of(await database.CountAsync("leases WHERE epoch > 0", cancellation)));
    }

    private static async Task AwaitAllSettledAsync(
        Bench bench, GatewayClient client, SideDatabase database, CancellationToken cancellation) =>
        await client.AwaitSettledAsync(
            await database.CountAsync("payments", cancellation), bench.SettleLimit, cancellation);

    private static async Task<(double From, double To)> StretchAsync(int seconds, CancellationToken cancellation)
    {
        var from = UnixSeconds();
        await Task.Delay(TimeSpan.FromSeconds(seconds), cancellation);
        return (from, UnixSeconds());
    }

    private static double UnixSeconds() => (DateTime.UtcNow - DateTime.UnixEpoch).TotalSeconds;

    private static Task<string> ChargedAsync(
        SideDatabase database, (double From, double To) stretch, CancellationToken cancellation) =>
        database.QueryAsync(
            string.Create(
                CultureInfo.InvariantCulture,
                $"""
                SELECT round(count(*) / ({stretch.To:F6} - {stretch.From:F6}), 1) FROM settlements
                WHERE requested_at >= to_timestamp({stretch.From:F6}) AND requested_at < to_timestamp({stretch.To:F6})
                """),
            cancellation);
}

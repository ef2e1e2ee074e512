using System.Globalization;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// The primary fails under load, and its standby goes on. `make ha` plays all faults at 500 payments a second and takes
/// the table; the tests play two of them, slower.
/// </summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class FailoverTests(ITestOutputHelper output)
{
    private static readonly string? Table = Environment.GetEnvironmentVariable("HA_TABLE");
    private static readonly int PerSecond = Table is null ? 100 : 500;
    private static readonly TimeSpan Before = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(4);
    // nginx answers after 6 s at the latest: it waits 3 s for an instance, and then for the other one.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan GapLimit = TimeSpan.FromSeconds(150);
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(90);

    private static readonly Fault[] Faults =
    [
        new("switchover", (cluster, _) => cluster.SwitchoverAsync()),
        new("postmaster killed", (cluster, node) => cluster.KillPostmasterAsync(node)) { MayStay = true },
        new("node killed, later back", (cluster, node) => cluster.KillNodeAsync(node))
        {
            Undo = (cluster, node) => cluster.StartNodeAsync(node),
        },
        new("network of the primary cut", (cluster, node) => cluster.CutAsync(node))
        {
            Undo = (cluster, node) => cluster.HealAsync(node),
            LivesOn = true,
        },
    ];

    [FailoverFact]
    public async Task Over_a_failover_nothing_acknowledged_is_lost_and_nobody_is_charged_twice()
    {
        await using var cluster = await FailoverCluster.UpAsync();
        await using var system = await GatewaySystem.UpAsync(
            ("LEDGER", cluster.ConnectionString), ("PROFILE", "durable"));
        Assert.Contains("without multiplexing", system.ReadLog(GatewaySystem.First), StringComparison.Ordinal);
        var lines = new List<string>
        {
            "| fault | gap, s | sent | acknowledged | 503 | lost | double |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        };
        foreach (var fault in Table is null ? Faults[..2] : Faults)
        {
            lines.Add(await PlayAsync(cluster, system, fault));
            output.WriteLine(lines[^1]);
            if (Table is not null)
                await File.WriteAllLinesAsync(Table, lines);
        }
    }

    private static async Task<string> PlayAsync(FailoverCluster cluster, GatewaySystem system, Fault fault)
    {
        await system.ResetAsync();
        var primary = await cluster.PrimaryAsync();
        var answers = new RetryAfterCheck();
        using var client = new HttpClient(answers) { BaseAddress = system.Address, Timeout = AnswerLimit };
        var ledger = new LoadLedger();
        using var over = new CancellationTokenSource();
        var load = PayAsync(client, ledger, over.Token);
        await Task.Delay(Before);

        var begun = DateTimeOffset.UtcNow;
        await fault.DoAsync(cluster, primary);
        var apart = Guid.NewGuid();
        var write = fault.LivesOn ? cluster.WriteAsync(primary, apart) : null;
        if (write is not null)
            await Eventually.HoldsAsync(
                async () => await cluster.ScalarAsync<long>(
                    primary, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                    + $"AND query LIKE 'INSERT INTO payments%{apart}%'") == 1,
                "the write at the primary that was cut off waits for the standby");
        await GoesOnAsync(ledger, begun);
        await over.CancelAsync();
        await load;
        Assert.True(write?.IsCompletedSuccessfully != true, "the primary that was cut off has committed");
        var gap = LongestGap(ledger, begun);
        await LedgerCheck.AgreesAsync(system, ledger, DrainLimit);
        await (fault.Undo?.Invoke(cluster, primary) ?? Task.CompletedTask);
        await cluster.SteadyAsync();

        // Once more, now that the old primary follows the new one.
        await LedgerCheck.AgreesAsync(system, ledger, DrainLimit);
        Assert.True(fault.MayStay || primary != await cluster.PrimaryAsync(), "no other node was promoted");
        Assert.Equal(0, await system.Database.CountAsync($"payments WHERE correlation_id = '{apart}'"));
        Assert.True(answers.Refused > 0, "no client noticed, so the test has shown nothing");
        Assert.Equal(0, answers.WithoutRetryAfter);
        Assert.Equal(0, ledger.CountOf(LoadOutcome.Failed));
        var seconds = gap.TotalSeconds.ToString("0.0", CultureInfo.InvariantCulture);
        return $"| {fault.Name} | {seconds} | {ledger.Count} | {ledger.Acknowledged} | {answers.Refused} | 0 | 0 |";
    }

    // A second's payments after the other; those of one may still wait for their answers when the next begin.
    private static async Task PayAsync(HttpClient client, LoadLedger ledger, CancellationToken over)
    {
        var seconds = new List<Task>();
        while (!over.IsCancellationRequested)
        {
            seconds.Add(LoadDriver.RunAtRateAsync(client, ledger, PerSecond, TimeSpan.FromSeconds(1)));
            await Task.Delay(TimeSpan.FromSeconds(1), CancellationToken.None);
        }

        await Task.WhenAll(seconds);
    }

    /// <summary>Returns when payments were refused, and then for a while none any more.</summary>
    private static async Task GoesOnAsync(LoadLedger ledger, DateTimeOffset begun)
    {
        var limit = begun + GapLimit;
        while (!HasGap() || LastRefused() + Quiet > DateTimeOffset.UtcNow)
        {
            Assert.True(DateTimeOffset.UtcNow < limit, $"no payment was acknowledged again within {GapLimit}");
            await Task.Delay(100);
        }

        bool HasGap() => ledger.CountOf(LoadOutcome.Unavailable) > 0;
        DateTimeOffset LastRefused() => ledger.Entries.Where(entry => entry.Outcome == LoadOutcome.Unavailable)
            .Max(entry => entry.SentAt + entry.Latency);
    }

    /// <summary>The longest time without an acknowledgement.</summary>
    private static TimeSpan LongestGap(LoadLedger ledger, DateTimeOffset begun)
    {
        var acknowledged = ledger.Entries.Where(entry => entry.Outcome == LoadOutcome.Acknowledged)
            .Select(entry => entry.SentAt + entry.Latency).Where(at => at >= begun).Order().Prepend(begun).ToList();
        return acknowledged.Zip(acknowledged.Skip(1), (one, next) => next - one).Max();
    }

    private sealed record Fault(string Name, Func<FailoverCluster, int, Task> DoAsync)
    {
        public Func<FailoverCluster, int, Task>? Undo { get; init; }

        /// <summary>Its keeper may be sooner than the monitor, and start it again.</summary>
        public bool MayStay { get; init; }

        /// <summary>The old primary runs on, and whoever reaches it may try to write.</summary>
        public bool LivesOn { get; init; }
    }
}

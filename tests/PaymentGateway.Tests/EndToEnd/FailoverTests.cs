using Xunit.Sdk;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// The primary fails under load, and its standby goes on. `make ha` plays all faults at 500 payments a second, or under
/// the preview's load, and takes the table; the tests play two of them, slower.
/// </summary>
[Collection(AlsoOneAfterAnother.Name), Trait(Alone.Lane, LongRunning.Name)]
public sealed class FailoverTests(ITestOutputHelper output)
{
    // Payments that wait at least at an instance when it dies; otherwise the test has shown nothing.
    private const int WaitingMin = 20;

    // The preview rises to this in a minute; here it stays there until the fault is over.
    private const int PreviewEnd = 550;
    private const int PreviewSeconds = 60;

    private static readonly string? Table = Environment.GetEnvironmentVariable("HA_TABLE");
    private static readonly string Chosen = Environment.GetEnvironmentVariable("HA_FAULT") ?? "";
    private static readonly bool IsPreview = Environment.GetEnvironmentVariable("HA_LOAD") == "preview";
    private static readonly TimeSpan Before = TimeSpan.FromSeconds(IsPreview ? 20 : 2);
    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(4);
    // Longer than the 20 s after which the monitor would give up a node that it does not reach.
    private static readonly TimeSpan Apart = TimeSpan.FromSeconds(30);
    // nginx answers after 6 s at the latest: it waits 3 s for an instance, and then for the other one.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan GapLimit = TimeSpan.FromSeconds(150);
    // By the shorter times; the monitor's own take 50 s.
    private static readonly TimeSpan HurriedMax = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(90);

    private static readonly Fault Lost =
        new("node and an instance killed, later back", (cluster, node) => cluster.KillNodeAsync(node))
        {
            Undo = (cluster, node) => cluster.StartNodeAsync(node),
            KillsInstance = true,
        };

    private static readonly Fault Cut =
        new("network of the primary cut", (cluster, node) => cluster.CutAsync(node))
        {
            Undo = (cluster, node) => cluster.HealAsync(node),
            LivesOn = true,
        };

    private static readonly Fault[] Faults =
    [
        new("switchover", (cluster, _) => cluster.SwitchoverAsync()),
        new("postmaster killed", (cluster, node) => cluster.KillPostmasterAsync(node)) { MayStay = true },
        Lost,
        new("postmaster killed ahead of its standby, then the node", (cluster, node) => cluster.KillAheadAsync(node))
        {
            Undo = (cluster, node) => cluster.StartNodeAsync(node),
            CutsStandby = true,
        },
        Cut,
        new("network to the instances cut", (cluster, node) => cluster.CutClientsAsync(node))
        {
            Undo = (cluster, node) => cluster.HealClientsAsync(node),
            Stays = true,
        },
        Lost with { Name = $"{Lost.Name}, shorter times", Hurries = true },
        Cut with { Name = $"{Cut.Name}, shorter times", Hurries = true },
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
        foreach (var fault in Table is null ? Faults[..2] : Faults.Where(one => one.Name.Contains(Chosen)))
        {
            try
            {
                lines.Add(await PlayAsync(cluster, system, fault));
            }
            catch (Exception red)
            {
                // Last, because CI shows the end of a message.
                throw new XunitException($"{red.Message}\n{fault.Name}:\n{await cluster.EventsAsync()}", red);
            }

            output.WriteLine(lines[^1]);
            if (Table is not null)
                await File.WriteAllLinesAsync(Table, lines);
        }
    }

    private static async Task<string> PlayAsync(FailoverCluster cluster, GatewaySystem system, Fault fault)
    {
        await system.ResetAsync();
        if (fault.Hurries)
            await cluster.HurryAsync();
        var primary = await cluster.PrimaryAsync();
        var answers = new RetryAfterCheck();
        using var client = new HttpClient(answers) { BaseAddress = system.Address, Timeout = AnswerLimit };
        var ledger = new LoadLedger();
        using var over = new CancellationTokenSource();
        var load = PayAsync(client, ledger, over.Token);
        await Task.Delay(Before);
        var dying = fault.KillsInstance ? await PaymentsWaitAsync(system) : 0;

        var begun = DateTimeOffset.UtcNow;
        if (fault.CutsStandby)
            await SettlesWithoutStandbyAsync(cluster, system, primary);
        await fault.DoAsync(cluster, primary);
        if (fault.KillsInstance)
            await InstanceDiesAsync(system, ledger);
        var apart = Guid.NewGuid();
        var write = fault.LivesOn ? cluster.WriteAsync(primary, apart) : null;
        if (write is not null)
            await Eventually.HoldsAsync(
                async () => await cluster.ScalarAsync<long>(
                    primary, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                    + $"AND query LIKE 'INSERT INTO payments%{apart}%'") == 1,
                "the write at the primary that was cut off waits for the standby");
        if (fault.Stays)
            await NobodyIsAcknowledgedAsync(ledger);
        else
            await GoesOnAsync(system, ledger, begun);
        if (fault.KillsInstance)
        {
            await IsAdoptedAsync(system, dying);
            await system.StartAsync(GatewaySystem.First);
        }

        Assert.True(write?.IsCompletedSuccessfully != true, "the primary that was cut off has committed");
        await (fault.Undo?.Invoke(cluster, primary) ?? Task.CompletedTask);
        await cluster.SteadyAsync();

        // The old primary follows the new one, and commits wait for it again.
        await GoesOnAsync(system, ledger, DateTimeOffset.UtcNow);
        await over.CancelAsync();
        await load;
        var gap = LongestGap(ledger, begun);
        // Statements at a server that was cut off may hold their batches for 60 s, by `Command Timeout`.
        Assert.True(
            !fault.Hurries || fault.LivesOn || gap < HurriedMax, $"a gap of {gap} in spite of the shorter times");
        await LedgerCheck.AgreesAsync(system, ledger, DrainLimit);
        await Eventually.HoldsAsync(
            () => HasAsync(
                system, 0, "leases WHERE closed_at IS NOT NULL AND adopted_at IS NULL "
                + $"AND epoch <> {Owners.Sql.Nobody}"),
            "the search in each closed epoch is over");
        Assert.True(
            fault.MayStay || fault.Stays == (primary == await cluster.PrimaryAsync()),
            "another node was promoted though it need not be, or none was");
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
        while (!over.IsCancellationRequested || (IsPreview && seconds.Count < PreviewSeconds))
        {
            seconds.Add(LoadDriver.RunAtRateAsync(client, ledger, RateIn(seconds.Count), TimeSpan.FromSeconds(1)));
            await Task.Delay(TimeSpan.FromSeconds(1), CancellationToken.None);
        }

        await Task.WhenAll(seconds);
    }

    private static int RateIn(int second) =>
        IsPreview ? Math.Min(PreviewEnd, PreviewEnd * (2 * second + 1) / (2 * PreviewSeconds))
        : Table is null ? 100 : 500;

    /// <summary>
    /// Returns when payments were refused, then for a while none any more, each instance that runs has a lease, and
    /// wherever payments were accepted since, its low-water mark has risen.
    /// </summary>
    private static async Task GoesOnAsync(GatewaySystem system, LoadLedger ledger, DateTimeOffset since)
    {
        await WithinAsync(
            () => Task.FromResult(HasGap() && LastRefused() + Quiet < DateTimeOffset.UtcNow),
            "payments are acknowledged again");
        // An INSERT in flight may hold the mark for 60 s, until its server answers or is given up.
        var now = DateTime.UtcNow;
        var leases = system.RunningInstances().Count();
        var accepted = $"payments WHERE accepted_at > '{now:O}'";
        await WithinAsync(
            async () => await HasAsync(system, leases, "leases WHERE closed_at IS NULL AND expires_at > now()")
                && !await HasAsync(system, 0, accepted)
                && await HasAsync(
                    system, 0, $"leases WHERE closed_at IS NULL AND low_water_mark <= '{now:O}' "
                    + $"AND epoch IN (SELECT owner_epoch FROM {accepted})"),
            "each lease is held, and the low-water mark rises where payments are accepted");

        async Task WithinAsync(Func<Task<bool>> condition, string what)
        {
            while (!await condition())
            {
                Assert.True(DateTimeOffset.UtcNow < since + GapLimit, $"within {GapLimit} not: {what}");
                await Task.Delay(100);
            }
        }

        bool HasGap() => ledger.CountOf(LoadOutcome.Unavailable) > 0;
        DateTimeOffset LastRefused() => ledger.Entries.Where(entry => entry.Outcome == LoadOutcome.Unavailable)
            .Max(entry => entry.SentAt + entry.Latency);
    }

    /// <summary>For so long that a promotion would have come.</summary>
    private static async Task NobodyIsAcknowledgedAsync(LoadLedger ledger)
    {
        var since = DateTimeOffset.UtcNow;
        await Task.Delay(Apart);
        Assert.Equal(0, ledger.Entries.Count(
            entry => entry.SentAt >= since && entry.Outcome == LoadOutcome.Acknowledged));
    }

    /// <summary>Payments wait at the first instance, as no processor takes charges.</summary>
    /// <returns>Its epoch.</returns>
    private static async Task<long> PaymentsWaitAsync(GatewaySystem system)
    {
        await system.Default.SetFailureAsync(true);
        await system.Fallback.SetFailureAsync(true);
        var epoch = await system.Database.NumberAsync(
            $"SELECT epoch FROM leases WHERE closed_at IS NULL AND instance LIKE '%/{GatewaySystem.First}.sock@%'");
        await Eventually.HoldsAsync(
            async () => await system.Database.CountUnsettledAsync(epoch) >= WaitingMin,
            "payments wait at the instance that dies");
        return epoch;
    }

    /// <summary>The instance dies in the gap; then the processors take charges again.</summary>
    private static async Task InstanceDiesAsync(GatewaySystem system, LoadLedger ledger)
    {
        await Eventually.HoldsAsync(() => ledger.CountOf(LoadOutcome.Unavailable) > 0, "the database is missed");
        await system.KillAsync(GatewaySystem.First);
        await system.Default.SetFailureAsync(false);
        await system.Fallback.SetFailureAsync(false);
    }

    /// <summary>Each instance is writing outcomes when the standby is cut off, and they are committed then.</summary>
    private static async Task SettlesWithoutStandbyAsync(FailoverCluster cluster, GatewaySystem system, int primary)
    {
        await using var held = await cluster.LockSettlementsAsync(primary);
        var instances = system.RunningInstances().Count();
        await Eventually.HoldsAsync(
            async () => await cluster.ScalarAsync<long>(
                primary, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                + "AND query LIKE '%INTO settlements%'") >= instances,
            "each instance has outcomes to write");
        await cluster.CutAsync(FailoverCluster.Other(primary));
    }

    /// <summary>The promoted node knows the lease; the other instance has closed it, and searched its epoch.</summary>
    private static Task IsAdoptedAsync(GatewaySystem system, long epoch) => Eventually.HoldsAsync(
        async () => await HasAsync(
            system, 1, $"leases WHERE epoch = {epoch} AND closed_at IS NOT NULL AND adopted_at IS NOT NULL")
            && await system.Database.CountUnsettledAsync(epoch) == 0,
        "the payments of the instance that died are adopted");

    // A connection has a second to come up, which is little on a busy machine.
    private static async Task<bool> HasAsync(GatewaySystem system, long count, string rows)
    {
        try
        {
            return await system.Database.CountAsync(rows) == count;
        }
        catch (NpgsqlException)
        {
            return false;
        }
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

        /// <summary>Monitor and standby reach it, so it stays the primary; nobody pays before it is undone.</summary>
        public bool Stays { get; init; }

        /// <summary>The standby is cut off before, and what is settled then is written at the primary alone.</summary>
        public bool CutsStandby { get; init; }

        /// <summary>An instance dies in the gap, with payments to settle.</summary>
        public bool KillsInstance { get; init; }

        /// <summary>By ops/failover-times.sql, as all faults after it.</summary>
        public bool Hurries { get; init; }

        /// <summary>The old primary runs on, and whoever reaches it may try to write.</summary>
        public bool LivesOn { get; init; }
    }
}

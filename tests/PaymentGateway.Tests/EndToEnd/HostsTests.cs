namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// Three hosts under load through one nginx. One is cut off from the database, one from the processors, one freezes,
/// then two at once. HOSTS_TABLE=file has it play them faster, with fallback in use, and write the table.
/// </summary>
[Collection(AlsoOneAfterAnother.Name), Trait(Alone.Lane, LongRunning.Name)]
public sealed class HostsTests(ITestOutputHelper output)
{
    // Payments that wait at least at a host before it breaks; otherwise the test has shown nothing.
    private const int WaitingMin = 20;

    // Charges that are stored at default and have no answer when something happens.
    private const int Unanswered = 15;

    // A host that freezes may read their answers, and those to a probe at each processor, before it knows of its loss.
    private const int InFlightMax = Unanswered + 2;

    private static readonly string? Table = Environment.GetEnvironmentVariable("HOSTS_TABLE");
    private static readonly int PerSecond = Table is null ? 150 : 500;
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(90);

    private static readonly (string Name, string Value)[] WithFallback =
    [
        ("Gateway__Routing__FallbackAfter", "3s"), ("Gateway__Settling__InDoubtHorizon", "6s"),
        ("Gateway__Settling__CallTimeout", "3s"),
    ];

    private static readonly Fault[] Faults =
    [
        new("cut off from the database", (1, HostFault.NoLedger)),
        new("cut off from the processors", (2, HostFault.NoProcessors)),
        new("frozen", (3, HostFault.Frozen)),
        new("one cut off from the database, one frozen", (2, HostFault.NoLedger), (1, HostFault.Frozen)),
    ];

    private readonly LoadLedger _ledger = new();

    [HostsFact]
    public async Task A_host_without_lease_sends_nothing_and_the_others_settle_every_payment_once()
    {
        await using var cluster = await HostsCluster.UpAsync(Table is null ? [] : WithFallback);
        await ClocksAreApartAsync(cluster);
        var lines = new List<string>
        {
            "| host | adopted, s | sent | 503 | slowest, s | p99, ms | taken over | sent late | lost | double |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        };
        foreach (var fault in Faults)
        {
            lines.Add(await PlayAsync(cluster, fault));
            output.WriteLine(lines[^1]);
            if (Table is not null)
                await File.WriteAllLinesAsync(Table, lines);
        }
    }

    // The time of acceptance is the host's own clock, between two looks at ours.
    private async Task ClocksAreApartAsync(HostsCluster cluster)
    {
        foreach (var (host, clock) in HostsCluster.Clocks)
        {
            var before = DateTime.UtcNow;
            var payment = await LoadDriver.PostAsync(cluster.Host(host), _ledger);
            var after = DateTime.UtcNow;
            Assert.Equal(LoadOutcome.Acknowledged, payment.Outcome);
            Assert.Equal(1, await cluster.Database.CountAsync(
                $"payments WHERE correlation_id = '{payment.Id}' AND accepted_at - interval '{clock} s' "
                + $"BETWEEN '{before:O}' AND '{after:O}'"));
        }
    }

    private async Task<string> PlayAsync(HostsCluster cluster, Fault fault)
    {
        var (begun, refused, sentBefore) = (DateTimeOffset.UtcNow, cluster.Answers.Refused, _ledger.Count);
        var over = new TaskCompletionSource();
        var load = LoadDriver.RunAtRateAsync(cluster.Client, _ledger, PerSecond, over.Task);
        var took = new Stopwatch();
        var epochs = new Dictionary<int, int>();
        var charges = new Dictionary<int, long>();
        var losing = fault.Hosts.Where(one => one.Fault != HostFault.NoProcessors).Select(one => one.Host).ToList();
        try
        {
            await PaymentsWaitAsync(cluster);
            foreach (var (host, _) in fault.Hosts)
                epochs[host] = await cluster.EpochOfAsync(host);
            took.Start();
            foreach (var (host, broken) in fault.Hosts)
                await cluster.BreakAsync(host, broken);

            foreach (var host in losing)
                await Eventually.HoldsAsync(() => IsAsync("closed_at", epochs[host]), $"host {host} lost its lease");
            // The host has payments to send, processors that take them, and no lease from here on.
            foreach (var host in losing)
                charges[host] = await cluster.CountAllChargesOfAsync(host);
            var settled = await cluster.Database.CountAsync("settlements");
            await ProcessorsAnswerAsync(cluster);
            foreach (var host in losing)
                await Eventually.HoldsAsync(() => IsAsync("adopted_at", epochs[host]), $"host {host}'s are adopted");
            took.Stop();
            await Eventually.HoldsAsync(
                async () => await cluster.Database.CountAsync("settlements") >= settled + PerSecond,
                "the others go on");
        }
        finally
        {
            over.SetResult();
            await load;
        }

        foreach (var (host, broken) in fault.Hosts)
            if (broken == HostFault.NoProcessors)
                await KeepsItsPaymentsAsync(cluster, epochs[host]);
        if (losing.Count > 0)
            await LedgerCheck.AgreesAsync(cluster, _ledger, DrainLimit);
        foreach (var host in losing)
            Assert.Equal(charges[host], await cluster.CountChargesOfAsync(host));

        foreach (var (host, broken) in fault.Hosts)
            await cluster.RepairAsync(host, broken);
        foreach (var host in losing)
        {
            await Eventually.HoldsAsync(
                () => cluster.LostWith(host, epochs[host]) is not null, $"host {host} knows of its loss");
            await Eventually.HoldsAsync(
                async () => await cluster.EpochOfAsync(host) > epochs[host], $"host {host} has a new lease");
        }

        await LedgerCheck.AgreesAsync(cluster, _ledger, DrainLimit);
        foreach (var host in losing)
        {
            var lost = cluster.LostWith(host, epochs[host]);
            Assert.True(lost >= WaitingMin, $"host {host} had {lost} to send");
            // Its earlier payments stay the others'. A request that it answers only now may be of its new epoch.
            var own = await cluster.Database.CountAsync(
                $"payments WHERE owner_epoch = {await cluster.EpochOfAsync(host)}");
            Assert.True(own == 0 || fault.Hosts.Length > 1, $"host {host} has stored {own} payments that others have");
            Assert.Equal(charges[host] + own, await cluster.CountChargesOfAsync(host));
        }

        ClientsNoticedNothing(cluster, fault, begun);
        return Line(
            fault.Name, losing.Count > 0 ? Text(took.Elapsed.TotalSeconds) : "-", _ledger.Count - sentBefore,
            cluster.Answers.Refused - refused, Text(_ledger.Percentile(100, begun).TotalSeconds),
            Text(_ledger.Percentile(99, begun).TotalMilliseconds),
            losing.Count > 0 ? string.Join(", ", losing.Select(host => cluster.LostWith(host, epochs[host]))) : "-",
            losing.Count > 0 ? 0 : "-", 0, 0);

        Task<bool> IsAsync(string what, int epoch) => HasAsync(cluster, $"epoch = {epoch} AND {what} IS NOT NULL");
    }

    // Some were charged, and nobody knows it; the others cannot be charged yet.
    private static async Task PaymentsWaitAsync(HostsCluster cluster)
    {
        await cluster.Default.SetFaultsAsync(new { afterInsert = "hang", times = Unanswered });
        await cluster.Default.HoldsAsync(Unanswered);
        await cluster.Default.SetFailureAsync(true);
        await cluster.Fallback.SetFailureAsync(true);
        foreach (var host in HostsCluster.Clocks.Keys)
            await Eventually.HoldsAsync(
                async () => await cluster.Database.CountUnsettledAsync(await cluster.EpochOfAsync(host))
                    >= WaitingMin + InFlightMax,
                $"payments wait at host {host}");
    }

    private static async Task ProcessorsAnswerAsync(HostsCluster cluster)
    {
        const string AtFallback = "settlements WHERE processor = 2";
        var before = await cluster.Database.CountAsync(AtFallback);
        await cluster.Fallback.SetFailureAsync(false);
        if (Table is not null)
            await Eventually.HoldsAsync(
                async () => await cluster.Database.CountAsync(AtFallback) > before, "fallback is used");
        await cluster.Default.ClearFaultsAsync();
        await cluster.Default.SetFailureAsync(false);
    }

    // The host renews its lease, so nobody adopts the payments that it cannot send.
    private static async Task KeepsItsPaymentsAsync(HostsCluster cluster, int epoch)
    {
        await Eventually.HoldsAsync(
            async () =>
                await cluster.Database.CountUnsettledAsync() == await cluster.Database.CountUnsettledAsync(epoch),
            "the others have settled theirs");
        Assert.True(await cluster.Database.CountUnsettledAsync(epoch) >= WaitingMin);
        Assert.True(await HasAsync(cluster, $"epoch = {epoch} AND closed_at IS NULL"));
    }

    private static async Task<bool> HasAsync(HostsCluster cluster, string lease) =>
        await cluster.Database.CountAsync($"leases WHERE {lease}") == 1;

    /// <summary>One host may break unseen. When two do, a request may have been at both, and is refused.</summary>
    private void ClientsNoticedNothing(HostsCluster cluster, Fault fault, DateTimeOffset begun)
    {
        Assert.Equal(0, cluster.Answers.WithoutRetryAfter);
        Assert.Equal(0, _ledger.CountOf(LoadOutcome.Failed));
        Assert.Equal(0, _ledger.CountOf(LoadOutcome.Refused));
        if (fault.Hosts.Length == 1)
            Assert.DoesNotContain(
                _ledger.Entries, one => one.Outcome == LoadOutcome.Unavailable && one.SentAt >= begun);
    }

    private static string Text(double number) => number.ToString("0.0", CultureInfo.InvariantCulture);

    private static string Line(params object[] cells) =>
        string.Join(' ', cells.Select(cell => string.Create(CultureInfo.InvariantCulture, $"| {cell}"))) + " |";

    private sealed record Fault(string Name, params (int Host, HostFault Fault)[] Hosts);
}

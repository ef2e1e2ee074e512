namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class RetentionTests
{
    private const int Many = 20_000;
    private const int Rate = 100;

    // No processor knows them, and none is asked for what is settled.
    private const string Plant = """
        WITH planted AS (
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            SELECT lpad(to_hex(number), 32, '0')::uuid, 1990,
                   date_bin('1 hour', now(), 'epoch') - interval '40 days' + number * interval '100 ms', 1
            FROM generate_series(1, 20000) AS number
            RETURNING correlation_id, accepted_at
        ), settled AS (
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at, recorded_at)
            SELECT correlation_id, accepted_at, 1, 1990, accepted_at, accepted_at FROM planted RETURNING requested_at
        ), totals AS (
            INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
            SELECT seconds, date_bin(seconds * interval '1 s', requested_at, 'epoch'), 1, 1, count(*), 1990 * count(*)
            FROM settled, (VALUES (5), (3600)) AS widths (seconds) GROUP BY 1, 2
        )
        INSERT INTO payments
            (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, parked_at, parked_reason)
        SELECT gen_random_uuid(), 1990, now() - interval '40 days', owner, CASE owner WHEN -1 THEN 0 END,
               CASE owner WHEN -1 THEN now() END, CASE owner WHEN -1 THEN 'tests' END
        FROM (SELECT max(epoch) AS owner FROM leases UNION ALL SELECT -1) AS owners
        """;

    private const string IsOld = "accepted_at < now() - interval '30 days'";

    [GatewaySystemFact]
    public async Task Old_settled_payments_leave_under_load_and_no_client_and_no_sum_notices()
    {
        await using var system = await GatewaySystem.UpAsync(("Gateway__Ledger__Retention", "30d"));
        var ledger = new LoadLedger();
        var hasLeft = new TaskCompletionSource();
        var load = LoadDriver.RunAtRateAsync(system.Client, ledger, Rate, hasLeft.Task);
        await Eventually.HoldsAsync(() => Task.FromResult(ledger.Acknowledged > Rate), "the load runs");
        await system.Database.ExecuteAsync(Plant);
        var from = DateTimeOffset.FromUnixTimeSeconds(await system.Database.NumberAsync(
            "SELECT extract(epoch FROM min(bucket)) FROM settlement_totals WHERE width_seconds = 3600"));
        var to = from.AddHours(1).AddMicroseconds(-1);
        var before = await GatewaySummary.AskAsync(system.Client, from, to);

        // The last ones are repeated just when they leave.
        var repeated = new LoadLedger();
        for (var number = Many - 200; number < Many; number++)
            await LoadDriver.PostAsync(system.Client, repeated, Guid.Parse($"{number:x32}"), 19.90m);
        // A page that finds a lock, and each end of the pages, is followed by ten seconds' pause.
        var left = -1L;
        for (var last = long.MaxValue; left != 0; last = left)
        {
            await Eventually.HoldsAsync(
                async () => (left = await system.Database.CountAsync($"settlements WHERE {IsOld}")) < last,
                "some more of them leave");
        }

        hasLeft.SetResult();
        await load;

        ledger.NoClientSawAnError();
        repeated.NoClientSawAnError();
        Assert.Equal(Many, before.Default.TotalRequests);
        foreach (var instance in system.RunningInstances())
            Assert.Equal(before, await GatewaySummary.AskAsync(instance, from, to));
        using var cut = await system.Client.GetAsync(
            $"payments-summary?from={from.AddSeconds(1):yyyy-MM-ddTHH:mm:ss}Z");
        Assert.Equal(HttpStatusCode.BadRequest, cut.StatusCode);
        // The parked one, and the one that its owner has not settled.
        Assert.Equal(2, await system.Database.CountAsync($"payments WHERE {IsOld}"));
        await Eventually.HoldsAsync(
            async () => await system.Database.CountUnsettledAsync() == 1, "all but that one are settled");
        await AssertAgreeAsync(system, ledger);
    }

    private static async Task AssertAgreeAsync(GatewaySystem system, LoadLedger ledger)
    {
        var settled = (await system.Database.SettlementsAsync())
            .Where(row => ledger.Find(row.Key) is not null).ToDictionary(row => row.Key, row => row.Value);
        var stored = await system.StoresAsync();
        stored[0] = stored[0] with
        {
            Payments = stored[0].Payments.Where(payment => ledger.Find(payment.CorrelationId) is not null),
        };

        var comparison = new LedgerComparison(ledger, settled, stored);

        Assert.Empty(comparison.Differences());
    }
}

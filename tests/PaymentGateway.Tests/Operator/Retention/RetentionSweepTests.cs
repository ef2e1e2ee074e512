using PaymentGateway.Operator.Retention;
using PaymentGateway.Tests.Operator.Reconciliation;

namespace PaymentGateway.Tests.Operator.Retention;

public sealed class RetentionSweepTests : OwnRig
{
    private const string Age = """
        UPDATE payments SET accepted_at = accepted_at - interval '40 days';
        UPDATE settlements SET accepted_at = accepted_at - interval '40 days',
                               requested_at = requested_at - interval '40 days',
                               recorded_at = recorded_at - interval '40 days';
        UPDATE settlement_totals SET bucket = bucket - interval '40 days';
        """;

    private const string Parked = """
        INSERT INTO payments
            (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, parked_at, parked_reason)
        VALUES (gen_random_uuid(), 1990, now() - interval '40 days', -1, 0, now(), 'tests')
        """;

    [PostgresFact]
    public async Task Without_a_retention_nothing_leaves()
    {
        var gateway = await Rig.StartGatewayAsync();
        var id = await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.Database.ExecuteAsync(Age);
        await Rig.StopGatewayAsync(gateway);

        gateway = await Rig.StartGatewayAsync();
        await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 2);

        Assert.Contains("settled", await gateway.GetAsync($"payments/{id}"), StringComparison.Ordinal);
        Assert.Equal(DateTime.MinValue, (await Rig.Database.LedgerState.StateAsync()).KeptFrom);
    }

    [PostgresFact]
    public async Task What_left_is_counted_and_no_longer_found_and_windows_that_need_it_are_refused()
    {
        var gateway = await Rig.StartGatewayAsync([.. ReconciliationRuns.Settings, "Ledger:Retention=30d"]);
        var ids = new[] { await gateway.PayAsync(), await gateway.PayAsync() };
        await Rig.LedgersReachAsync(byDefault: 2);
        await Rig.Database.ExecuteAsync(Age);

        // The sweep looks every 10 s, and 10 s later again where it found a lock.
        await Eventually.HoldsAsync(
            async () => await Rig.CountStoredAsync() == 0, "both have left", TimeSpan.FromMinutes(1));

        Assert.Equal(0, await Rig.CountSettledAsync());
        await Eventually.HoldsAsync(
            async () => Prometheus.Read(await gateway.GetAsync("metrics"))["payment_gateway_payments_removed_total"]
                == 2,
            "both are counted");
        await PaymentViews.AssertProblemAsync(
            gateway.AskAsync($"payments/{ids[0]}"), HttpStatusCode.NotFound, "id");
        Assert.Equal(PaymentViews.NoPayments, await gateway.GetAsync("payments"));
        await Rig.LedgersReachAsync(byDefault: 2);

        var old = DateTime.UtcNow.AddDays(-41);
        using var summary = await gateway.AskAsync($"payments-summary?from={old:yyyy-MM-dd}T12:00:01Z");
        await AssertRefusedAsync(summary, "from", "only sums of 5 seconds are kept");
        using var reconciliation = await gateway.PostAsync($"{ReconciliationRuns.Path}?from={old:yyyy-MM-dd}");
        await AssertRefusedAsync(reconciliation, "from", "at the earliest");
        using var ended = await gateway.PostAsync($"{ReconciliationRuns.Path}?to={old:yyyy-MM-dd}");
        await AssertRefusedAsync(ended, "to", "at the earliest");
        // Everything that is kept: the processor's two are outside, were they as old there.
        var to = $"&to={DateTime.UtcNow.AddDays(-1):yyyy-MM-dd}";
        Assert.Equal("agrees", (await gateway.ReconcileAsync(
            repair: true, $"&from={DateTime.UtcNow.AddDays(-20):yyyy-MM-dd}{to}")).Text("outcome"));
        Assert.Equal("agrees", (await gateway.ReconcileAsync(repair: true, to)).Text("outcome"));
        await Rig.Database.ExecuteAsync(Parked);
        var before = await Rig.Database.LedgerState.StateAsync();
        var all = await gateway.ReconcileAsync(repair: true, to);
        Assert.Equal("agrees", all.Text("outcome"));
        // The next hour that leaves does not stop it; perhaps one leaves just now.
        Assert.InRange(
            all.GetProperty("from").GetDateTime().ToUniversalTime(), before.KeptFrom.AddHours(1),
            (await Rig.Database.LedgerState.StateAsync()).KeptFrom.AddHours(1));
    }

    // Its timer is armed after each page: the rest waits for the pause, and a payment for both clocks.
    [PostgresFact]
    public async Task A_backlog_leaves_a_page_at_a_time_once_it_is_old_by_the_clock_of_the_instance()
    {
        await Rig.Database.SettleAsync(await Rig.Database.OpenEpochAsync(), 800);
        await Rig.Database.ExecuteAsync("UPDATE settlements SET recorded_at = requested_at");
        var clock = new WatchedClock();
        clock.SetUtcNow(new DateTimeOffset(Batches.Noon.AddDays(30)));
        var settings = TestSettings.Read(("Gateway:Ledger:Retention", "30d"));
        using var metrics = new GatewayMetrics(settings);
        using var sweep = new RetentionSweep(
            new RetentionStore(Rig.Database.Shared), settings, metrics, clock, NullLogger<RetentionSweep>.Instance);

        await sweep.StartAsync(CancellationToken.None);
        await Eventually.HoldsAsync(() => clock.ArmedTimers == 1, "the sweep has looked");
        Assert.Equal(800, await Rig.CountSettledAsync());
        clock.Advance(TimeSpan.FromHours(1));
        await Eventually.HoldsAsync(() => clock.ArmedTimers == 1, "a page has left");
        Assert.Equal(300, await Rig.CountSettledAsync());
        clock.Advance(TimeSpan.FromSeconds(10));
        await Eventually.HoldsAsync(async () => await Rig.CountSettledAsync() == 0, "the rest has left");
        await sweep.StopAsync(CancellationToken.None);
    }

    private static async Task AssertRefusedAsync(HttpResponseMessage answer, string field, string why)
    {
        var problem = JsonSerializer.Deserialize<JsonElement>(await answer.Content.ReadAsStringAsync());

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Equal(
            ("urn:problem:payment-gateway:invalid-window", field), (problem.Text("type"), problem.Text("field")));
        Assert.Contains(why, problem.Text("detail"), StringComparison.Ordinal);
    }
}

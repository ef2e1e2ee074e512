namespace PaymentGateway.Tests.Operator.Reconciliation;

public sealed class ReconciliationTests : PlantedGateway
{
    [PostgresFact]
    public async Task A_repair_makes_both_sides_agree_and_what_nobody_holds_is_charged_once()
    {
        var parked = Guid.Empty;
        var planted = await PlantAsync(300, planted =>
        {
            foreach (var processor in new[] { Known.Default, Known.Fallback })
            {
                planted.Absent(processor);
                planted.Unrecorded(processor);
                planted.Agreeing(200);
                planted.Misplaced(processor);
                // The next payment differs too: a window with both of its times that agreed would not be looked into.
                planted.RequestedAt(processor);
                planted.Amount(processor);
                planted.Agreeing(200);
            }

            planted.Agreeing(100);
            parked = planted.Unrecorded(Known.Default);
        });
        await Rig.Database.ParkAsync($"correlation_id = '{parked}'");

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal("repaired", report.Text("outcome"));
        Assert.Equal(planted.Kinds.Count, report.Differences().Count(one => one.Text("repair") is not "left"));
        var absent = planted.Kinds.Count(one => one.Value == "absent");
        await Eventually.HoldsAsync(
            async () => await Rig.CountSettledAsync() == await Rig.CountStoredAsync(),
            "what was put back is settled");
        await Rig.AssertLedgersAgreeAsync();
        await AssertTotalsAgreeAsync();
        Assert.Equal((absent, 0L), await Rig.PostsAsync());
        Assert.Equal("agrees", (await Gateway.ReconcileAsync()).Text("outcome"));
        Assert.Equal(PaymentViews.NoPayments, await Gateway.GetAsync(PaymentViews.ParkedPath));
        var metrics = await Gateway.GetAsync("metrics");
        Assert.Contains("reconciliations_total{outcome=\"repaired\"} 1\n", metrics, StringComparison.Ordinal);
        Assert.Contains(
            $"reconciliation_differences_total{{kind=\"absent\",repair=\"put_back\"}} {absent}\n", metrics,
            StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task Ledgers_that_agree_cost_few_calls_and_no_look_up()
    {
        await PlantAsync(2_000);

        var report = await Gateway.ReconcileAsync();

        Assert.Equal("agrees", report.Text("outcome"));
        var atDefault = report.GetProperty("processors").GetProperty("default");
        Assert.Equal(1_500, atDefault.GetProperty("ledger").GetProperty("payments").GetInt32());
        Assert.Equal(0, (await Rig.Default.CallsAsync()).Lookups + (await Rig.Fallback.CallsAsync()).Lookups);
        // 74 s in parts of a second, at both.
        Assert.InRange(report.GetProperty("calls").GetInt32(), 4, 2 * 2 * 256);
    }

    [PostgresFact]
    public async Task Where_more_differs_than_is_named_nothing_is_put_back()
    {
        await PlantAsync(
            1_200, planted =>
            {
                for (var at = 0; at < 1_100; at++)
                    planted.Absent(Known.Default);
            },
            apartMs: 1.001);

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal(("differs", true), (report.Text("outcome"), report.GetProperty("truncated").GetBoolean()));
        Assert.InRange(report.Differences().Count, 900, 1_000);
        Assert.All(report.Differences(), one => Assert.Contains("Too much differs", one.Text("why")));
        Assert.Equal(2_300, await Rig.CountSettledAsync());
    }

    // A millisecond with more settlements than are read, and a settlement without its payment.
    [PostgresTheory]
    [InlineData(1_400, 0, false)]
    [InlineData(20, 1.001, true)]
    public async Task What_no_payment_explains_is_named_by_its_sums(int agreeing, double apartMs, bool isOrphan)
    {
        var planted = await PlantAsync(agreeing, planted => planted.Absent(Known.Default), apartMs);
        if (isOrphan)
            await Rig.Database.ExecuteAsync(
                $"DELETE FROM payments WHERE correlation_id = '{planted.Kinds.Keys.Single()}'");

        var sums = Assert.Single((await Gateway.ReconcileAsync()).Differences());

        Assert.Equal(("sums", -1), (sums.Text("kind"), sums.GetProperty("payments").GetInt32()));
        Assert.Equal(-planted.Payments.Last().Cents / 100m, sums.GetProperty("amount").GetDecimal());
    }

    // One among the 5,000 that were accepted before its charge, and a parked one from before all of them.
    [PostgresFact]
    public async Task What_was_charged_long_after_its_acceptance_is_found()
    {
        var (waited, parked) = (Guid.Empty, Guid.Empty);
        var planted = await PlantAsync(
            5_200, planted => (waited, parked) =
                (planted.Unrecorded(Known.Default), planted.Unrecorded(Known.Fallback)),
            apartMs: 1.001);
        await Rig.Database.ExecuteAsync(
            "UPDATE payments SET accepted_at = accepted_at - interval '2 seconds' "
            + $"WHERE correlation_id = '{waited}'; "
            + $"UPDATE payments SET accepted_at = accepted_at - interval '1 hour', {TestDatabase.Parked} "
            + $"WHERE correlation_id = '{parked}'");

        var report = await Gateway.ReconcileAsync();

        Assert.Equal(planted.Kinds.OrderBy(one => one.Key), report.Kinds().OrderBy(one => one.Key));
        Assert.Equal(2, report.Differences().Count);
    }

    [PostgresFact]
    public async Task No_more_calls_begin_in_a_second_than_the_setting_says()
    {
        var gateway = await Rig.StartGatewayAsync([.. ReconciliationRuns.Settings, "Reconciling:MaxRate=100"]);
        var planted = await PlantAsync(40, apartMs: 1_000);

        var began = Stopwatch.GetTimestamp();
        var report = await gateway.ReconcileAsync(window: $"&from={Start:o}&to={planted.Last:o}");
        var calls = report.GetProperty("calls").GetInt32();

        Assert.InRange(calls, 100, 2_000);
        // One in each hundredth of a second, but for the first ones.
        Assert.True(Stopwatch.GetElapsedTime(began) > TimeSpan.FromSeconds((calls - 5) / 100d), $"{calls} calls");
    }

    private async Task AssertTotalsAgreeAsync()
    {
        var summary = await Rig.Database.SummariseAsync(null, null);
        var (atDefault, atFallback) = (await Rig.Default.SummariseAsync(), await Rig.Fallback.SummariseAsync());
        Assert.Equal((atDefault.TotalRequests, atDefault.TotalAmount),
            (summary.Default.TotalRequests, summary.Default.TotalAmount));
        Assert.Equal((atFallback.TotalRequests, atFallback.TotalAmount),
            (summary.Fallback.TotalRequests, summary.Fallback.TotalAmount));
    }
}

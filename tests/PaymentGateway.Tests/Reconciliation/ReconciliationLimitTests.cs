namespace PaymentGateway.Tests.Reconciliation;

/// <summary>Far more than a reconciliation names, far older than where it looks first, and how fast it asks.</summary>
public sealed class ReconciliationLimitTests() : OneGateway(ReconciliationRuns.Settings)
{
    private static readonly DateTime Start = DateTime.UtcNow.Date.AddDays(-2);
    private static readonly TimeSpan Apart = TimeSpan.FromMilliseconds(1.001);

    [PostgresFact]
    public async Task Where_more_differs_than_is_named_nothing_is_put_back()
    {
        var planted = new PlantedLedgers(Start, Apart);
        planted.Agreeing(1_200);
        for (var at = 0; at < 1_100; at++)
            planted.Absent(Processor.Default);
        await planted.WriteAsync(Rig);

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal(("differs", true), (report.Text("outcome"), report.GetProperty("truncated").GetBoolean()));
        Assert.InRange(report.Differences().Count, 900, 1_000);
        Assert.All(report.Differences(), one => Assert.Contains("Too much differs", one.Text("why")));
        Assert.Equal(2_300, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task A_millisecond_with_more_settlements_than_are_read_is_named_by_its_sums()
    {
        var planted = new PlantedLedgers(Start, TimeSpan.Zero);
        planted.Agreeing(1_400);
        planted.Absent(Processor.Default);
        await planted.WriteAsync(Rig);

        var sums = Assert.Single((await Gateway.ReconcileAsync()).Differences());

        Assert.Equal(("sums", -1), (sums.Text("kind"), sums.GetProperty("payments").GetInt32()));
    }

    [PostgresFact]
    public async Task A_settlement_without_its_payment_is_named_by_its_sums()
    {
        var planted = new PlantedLedgers(Start, Apart);
        planted.Agreeing(20);
        planted.Absent(Processor.Default);
        await planted.WriteAsync(Rig);
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
        var planted = new PlantedLedgers(Start, Apart);
        planted.Agreeing(5_200);
        var (waited, parked) = (planted.Unrecorded(Processor.Default), planted.Unrecorded(Processor.Fallback));
        await planted.WriteAsync(Rig);
        await Rig.Database.ExecuteAsync(
            "UPDATE payments SET accepted_at = accepted_at - interval '2 seconds' "
            + $"WHERE correlation_id = '{waited}'; "
            + "UPDATE payments SET accepted_at = accepted_at - interval '1 hour', owner_epoch = -1, "
            + $"parked_reason = 'tests', parked_at = now() WHERE correlation_id = '{parked}'");

        var report = await Gateway.ReconcileAsync();

        Assert.Equal(planted.Kinds.OrderBy(one => one.Key), report.Kinds().OrderBy(one => one.Key));
        Assert.Equal(2, report.Differences().Count);
    }

    [PostgresFact]
    public async Task No_more_calls_begin_in_a_second_than_the_setting_says()
    {
        var gateway = await Rig.StartGatewayAsync([.. ReconciliationRuns.Settings, "Reconciling:MaxRate=100"]);
        var planted = new PlantedLedgers(Start, TimeSpan.FromSeconds(1));
        planted.Agreeing(40);
        await planted.WriteAsync(Rig);

        var began = Stopwatch.GetTimestamp();
        var report = await gateway.ReconcileAsync(window: $"&from={Start:o}&to={planted.Last:o}");
        var calls = report.GetProperty("calls").GetInt32();

        Assert.InRange(calls, 100, 2_000);
        // One in each hundredth of a second, but for the first ones.
        Assert.True(Stopwatch.GetElapsedTime(began) > TimeSpan.FromSeconds((calls - 5) / 100d), $"{calls} calls");
    }
}

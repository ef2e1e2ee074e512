namespace PaymentGateway.Tests.Reconciliation;

/// <summary>A reconciliation on a whole gateway in this process, with differences planted on all sides.</summary>
public sealed class ReconciliationTests() : OneGateway(ReconciliationRuns.Settings)
{
    private static readonly DateTime Start = DateTime.UtcNow.Date.AddDays(-2);

    private readonly PlantedLedgers _planted = new(Start, TimeSpan.FromMilliseconds(37.001));

    [PostgresFact]
    public async Task A_repair_makes_both_sides_agree_and_what_nobody_holds_is_charged_once()
    {
        PlantAll();
        var parked = _planted.Unrecorded(Processor.Default);
        await _planted.WriteAsync(Rig);
        await ParkAsync(parked);

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal("repaired", report.Text("outcome"));
        Assert.Equal(
            _planted.Kinds.Count, report.Differences().Count(one => one.Text("repair") is not "left"));
        var absent = _planted.Kinds.Count(one => one.Value == "absent");
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
        _planted.Agreeing(2_000);
        await _planted.WriteAsync(Rig);

        var report = await Gateway.ReconcileAsync();

        Assert.Equal("agrees", report.Text("outcome"));
        Assert.Equal(1_500, report.GetProperty("default").GetProperty("ledger").GetProperty("payments").GetInt32());
        Assert.Equal(0, (await Rig.Default.CallsAsync()).Lookups + (await Rig.Fallback.CallsAsync()).Lookups);
        // 74 s in parts of a second, at both.
        Assert.InRange(report.GetProperty("calls").GetInt32(), 4, 2 * 2 * 256);
    }

    [PostgresFact]
    public async Task A_payment_that_an_instance_may_have_in_memory_is_not_put_back()
    {
        _planted.Agreeing(20);
        _planted.Absent(Processor.Default);
        await _planted.WriteAsync(Rig);
        await Rig.Database.ExecuteAsync(
            "WITH open AS (UPDATE leases SET closed_at = NULL, low_water_mark = '-infinity', "
            + "expires_at = 'infinity' WHERE instance = 'planted' RETURNING epoch) SELECT * FROM open");

        var report = await Gateway.ReconcileAsync(repair: true);

        var left = Assert.Single(report.Differences());
        Assert.Equal(("absent", "left"), (left.Text("kind"), left.Text("repair")));
        Assert.Contains("its instance has older payments unsettled", left.Text("why"), StringComparison.Ordinal);
        Assert.Equal(21, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task Nothing_is_put_back_while_a_processor_fails()
    {
        _planted.Agreeing(10);
        _planted.Absent(Processor.Fallback);
        await _planted.WriteAsync(Rig);
        await Rig.Default.SetFailureAsync(true);
        await Gateway.PayAsync();
        await Eventually.HoldsAsync(async () => (await Rig.PostsAsync()).Default >= 5, "its circuit has opened");

        var report = await Gateway.ReconcileAsync(repair: true);

        var left = Assert.Single(report.Differences());
        Assert.Equal("left", left.Text("repair"));
        Assert.Contains("not healthy", left.Text("why"), StringComparison.Ordinal);
    }

    private void PlantAll()
    {
        _planted.Agreeing(300);
        foreach (var processor in Enum.GetValues<Processor>())
        {
            _planted.Absent(processor);
            _planted.Unrecorded(processor);
            _planted.Agreeing(200);
            _planted.Misplaced(processor);
            // The next payment differs too: a window with both of its times that agreed would not be looked into.
            _planted.RequestedAt(processor);
            _planted.Amount(processor);
            _planted.Agreeing(200);
        }

        _planted.Agreeing(100);
    }

    private Task ParkAsync(Guid id) => Rig.Database.ExecuteAsync(
        "UPDATE payments SET owner_epoch = -1, parked_reason = 'tests', parked_at = now() "
        + $"WHERE correlation_id = '{id}'");

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

namespace PaymentGateway.Tests.Operator.Reconciliation;

public sealed class ReconciliationRepairTests : PlantedGateway
{
    [PostgresTheory]
    [InlineData(0, "less than half")]
    [InlineData(29, "less than it did")]
    public async Task Nothing_is_put_back_where_a_processor_is_emptied_meanwhile(int kept, string why)
    {
        await PlantAsync(40, planted => planted.Absent(Known.Fallback));

        var report = await Held.MeanwhileAsync(() => Gateway.ReconcileAsync(repair: true), async () =>
        {
            var held = (await Rig.Default.PaymentsAsync()).Values;
            Assert.Equal(30, held.Count());
            await Rig.Default.PurgeAsync();
            await Rig.Default.PlantAsync(held.Take(kept));
        });

        AssertLeft(report, "absent", why);
        Assert.Equal(41, await Rig.CountSettledAsync());
    }

    // Of at least its amount, at either processor; or of its own millisecond.
    [PostgresTheory]
    [InlineData(false, 2_000_000, false)]
    [InlineData(true, 2_000_000, false)]
    [InlineData(true, 1, true)]
    public async Task Nothing_is_put_back_that_a_processor_may_count_and_not_find(
        bool isDefault, long cents, bool atLast)
    {
        await PlantAsync(20, planted =>
        {
            planted.Absent(Known.Default);
            planted.NotInLedger(isDefault ? Known.Default : Known.Fallback, cents, atLast);
        });

        var report = await Gateway.ReconcileAsync(repair: true);

        AssertLeft(report, "absent", "counts more payments than it finds");
        AssertLeft(report, "unknown", "Only the processor");
        Assert.Equal(21, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task What_is_another_difference_by_the_second_look_is_that_one_and_left()
    {
        var planted = await PlantAsync(20, planted => planted.Unrecorded(Known.Default));

        var report = await Held.MeanwhileAsync(
            () => Gateway.ReconcileAsync(repair: true),
            async () => await Rig.Fallback.PlantAsync((await Rig.Default.PaymentsAsync()).Values.Where(
                payment => planted.Kinds.ContainsKey(payment.CorrelationId))));

        Assert.Equal("differs", report.Text("outcome"));
        AssertLeft(report, "charged_twice", "changed meanwhile");
    }

    [PostgresFact]
    public async Task A_window_that_differs_in_another_way_by_the_second_look_is_kept_and_nothing_is_put_back()
    {
        var planted = await PlantAsync(20, planted =>
        {
            planted.Absent(Known.Default);
            planted.NotInLedger(Known.Default);
        });

        var report = await Held.MeanwhileAsync(
            () => Gateway.ReconcileAsync(repair: true),
            () => Rig.Default.PlantAsync(
                [new ProcessorPayment(Guid.NewGuid(), 0.01m, new DateTimeOffset(planted.Last, TimeSpan.Zero))]));

        Assert.True(report.GetProperty("truncated").GetBoolean());
        AssertLeft(report, "unknown", "Only the processor");
        AssertLeft(report, "absent", "Too much differs");
    }

    [PostgresFact]
    public async Task A_window_that_agrees_by_the_second_look_is_no_difference()
    {
        await PlantAsync(20, planted =>
        {
            planted.Absent(Known.Default);
            planted.NotInLedger(Known.Fallback);
        });

        var report = await Held.MeanwhileAsync(() => Gateway.ReconcileAsync(), async () =>
        {
            var known = await Rig.Database.ScalarAsync<Guid[]>("SELECT array_agg(correlation_id) FROM payments");
            var held = (await Rig.Fallback.PaymentsAsync()).Values.Where(one => known.Contains(one.CorrelationId));
            await Rig.Fallback.PurgeAsync();
            await Rig.Fallback.PlantAsync(held);
        });

        Assert.Equal("absent", Assert.Single(report.Differences()).Text("kind"));
    }

    [PostgresFact]
    public async Task What_PostgreSQL_refuses_is_left_and_the_others_are_repaired()
    {
        var refused = Guid.Empty;
        await PlantAsync(20, planted =>
        {
            refused = planted.Unrecorded(Known.Default);
            planted.Unrecorded(Known.Default);
            planted.Unrecorded(Known.Fallback);
        });
        await Rig.Database.ExecuteAsync(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$; "
            + "CREATE TRIGGER refuse BEFORE INSERT ON settlements FOR EACH ROW "
            + $"WHEN (NEW.correlation_id = '{refused}') EXECUTE FUNCTION refuse()");

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal("differs", report.Text("outcome"));
        Assert.Equal(2, report.GetProperty("repaired").GetInt32());
        var left = Assert.Single(report.Differences(), one => one.Text("repair") == "left");
        Assert.Equal($"{refused}", left.Text("correlationId"));
        Assert.Contains("PostgreSQL refused it (P0001)", left.Text("why"), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task A_look_up_that_cannot_be_true_says_nothing_and_the_report_comes()
    {
        var id = (await PlantAsync(20, planted => planted.Absent(Known.Default))).Kinds.Keys.Single();
        await Rig.Default.PlantAsync([new ProcessorPayment(id, 1m, DateTimeOffset.MaxValue)]);

        var report = await Gateway.ReconcileAsync(repair: true);

        Assert.Equal("stopped", report.Text("outcome"));
        Assert.Equal($"default does not say whether it holds {id}.", report.Text("stopped"));
        Assert.Equal(21, await Rig.CountSettledAsync());
    }

    // A 429 asks for a second's pause, and three in a row would stop it.
    [PostgresFact]
    public async Task A_processor_that_does_not_answer_once_is_asked_again()
    {
        await PlantAsync(20, planted => planted.Absent(Known.Default));
        await Rig.Default.SetFaultsAsync(new { lookUp = "tooMany" });

        Held.Hold(TimeSpan.FromSeconds(1));
        var running = Gateway.ReconcileAsync();
        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Lookups > 0, "the reconciliation names payments");
        await Rig.Default.ClearFaultsAsync();
        Held.LetGo();

        Assert.Equal("absent", Assert.Single((await running).Differences()).Text("kind"));
    }

    [PostgresFact]
    public async Task A_payment_that_an_instance_may_have_in_memory_is_not_put_back()
    {
        await PlantAsync(20, planted => planted.Absent(Known.Default));
        await Rig.Database.ExecuteAsync(
            "UPDATE leases SET closed_at = NULL, adopted_at = NULL, low_water_mark = '-infinity', "
            + "expires_at = 'infinity' WHERE instance = 'planted'");

        AssertLeft(
            await Gateway.ReconcileAsync(repair: true), "absent", "its instance has older payments unsettled");
        Assert.Equal(21, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task Nothing_is_put_back_while_a_processor_fails()
    {
        await PlantAsync(10, planted => planted.Absent(Known.Fallback));
        await Rig.Default.SetFailureAsync(true);
        await Gateway.PayAsync();
        await Eventually.HoldsAsync(async () => (await Rig.PostsAsync()).Default >= 5, "its circuit has opened");

        AssertLeft(await Gateway.ReconcileAsync(repair: true), "absent", "not healthy");
    }
}

namespace PaymentGateway.Tests.Leasing;

public sealed class BacklogSweepTests : OwnRig
{
    [PostgresFact]
    public async Task Payments_that_overflow_a_small_queue_come_back_from_the_table_oldest_first()
    {
        // The first payment hangs at its processor, and few more fit into memory.
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await Rig.StartGatewayAsync(
            "Intake:QueueCapacity=10", "Settling:MaxConcurrency=1", "Settling:CallTimeout=300s",
            "Settling:InDoubtHorizon=300s");
        for (var i = 0; i < 100; i++)
            await gateway.PayAsync();
        Assert.True(gateway.Epoch.Backlog.HasOverflow);
        Assert.True(gateway.Epoch.Unsettled.Count < 20);

        await Rig.Default.ClearFaultsAsync();

        await Rig.LedgersReachAsync(byDefault: 100);
        await Rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, await Rig.Database.ScalarAsync<long>("""
            SELECT count(*) FROM (
                SELECT requested_at < lag(requested_at) OVER (ORDER BY accepted_at) AS overtook
                FROM payments JOIN settlements USING (accepted_at, correlation_id)
            ) AS pairs WHERE overtook
            """));
        Assert.False(gateway.Epoch.Backlog.HasOverflow);
    }
}

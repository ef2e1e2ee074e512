using PaymentGateway.Owning;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Owning;

/// <summary>More than the queue holds, in a whole gateway.</summary>
public sealed class BacklogSweepTests : IAsyncLifetime
{
    private GatewayRig rig = null!;

    public async Task InitializeAsync() => rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await rig.DisposeAsync();

    [PostgresFact]
    public async Task What_overflows_a_small_queue_comes_back_from_the_table_oldest_first()
    {
        await rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await rig.StartGatewayAsync(
            "Intake:QueueCapacity=10", "Settling:MaxConcurrency=1", "Settling:CallTimeout=300s");
        for (var i = 0; i < 100; i++)
            await gateway.PayAsync();
        Assert.True(gateway.Part<StoredBacklog>().HasOverflow);
        Assert.True(gateway.Part<OpenPayments>().Count < 20);

        await rig.Default.ClearFaultsAsync();

        await rig.BooksReachAsync(byDefault: 100);
        await rig.AssertBooksAgreeAsync();
        Assert.Equal(0, await rig.Database.ScalarAsync<long>("""
            SELECT count(*) FROM (
                SELECT requested_at < lag(requested_at) OVER (ORDER BY accepted_at) AS overtook
                FROM payments JOIN settlements USING (accepted_at, correlation_id)
            ) AS pairs WHERE overtook
            """));
        Assert.False(gateway.Part<StoredBacklog>().HasOverflow);
    }

    [PostgresFact]
    public async Task A_purge_empties_what_waits_in_the_table_as_well()
    {
        await rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await rig.StartGatewayAsync(
            "Intake:QueueCapacity=10", "Settling:MaxConcurrency=1", "Settling:CallTimeout=300s");
        for (var i = 0; i < 50; i++)
            await gateway.PayAsync();
        await Eventually.HoldsAsync(
            async () => (await rig.Default.CallsAsync()).InFlight == 1, "the first is out");

        await gateway.PurgeAsync();
        await Eventually.HoldsAsync(
            () => gateway.Part<OpenPayments>().Snapshot().All(payment => payment.Purged), "all are marked");
        await rig.Default.ClearFaultsAsync();
        var id = await gateway.PayAsync();

        await rig.BooksReachAsync(byDefault: 1);
        Assert.Equal(2, (await rig.Default.PaymentsAsync()).Count); // The one that was out already, and the new one.
        Assert.Contains(id, (await rig.Default.PaymentsAsync()).Keys);
    }

    [PostgresFact]
    public async Task What_a_stalled_backend_adds_to_a_closed_epoch_late_is_adopted_by_a_later_look()
    {
        var dead = await rig.Database.OpenEpochAsync();
        await rig.Database.Leases.CloseAsync(dead);
        await rig.StartGatewayAsync("Settling:InDoubtHorizon=100ms");
        for (var rows = 1; rows <= 3; rows++)
        {
            await rig.Database.ExecuteAsync(
                $"INSERT INTO payments VALUES (gen_random_uuid(), 1990, clock_timestamp(), {dead})");

            await rig.BooksReachAsync(byDefault: rows);
        }

        await rig.AssertBooksAgreeAsync();
    }
}

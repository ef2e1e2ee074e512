using Npgsql;
using PaymentGateway.Leasing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>More than the queue holds, in a whole gateway.</summary>
public sealed class BacklogSweepTests : IAsyncLifetime
{
    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task Payments_that_overflow_a_small_queue_come_back_from_the_table_oldest_first()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await _rig.StartGatewayAsync(
            "Intake:QueueCapacity=10", "Settling:MaxConcurrency=1", "Settling:CallTimeout=300s",
            "Settling:InDoubtHorizon=300s");
        for (var i = 0; i < 100; i++)
            await gateway.PayAsync();
        Assert.True(gateway.Part<StoredBacklog>().HasOverflow);
        Assert.True(gateway.Part<UnsettledPayments>().Count < 20);

        await _rig.Default.ClearFaultsAsync();

        await _rig.LedgersReachAsync(byDefault: 100);
        await _rig.AssertLedgersAgreeAsync();
        Assert.Equal(0, await _rig.Database.ScalarAsync<long>("""
            SELECT count(*) FROM (
                SELECT requested_at < lag(requested_at) OVER (ORDER BY accepted_at) AS overtook
                FROM payments JOIN settlements USING (accepted_at, correlation_id)
            ) AS pairs WHERE overtook
            """));
        Assert.False(gateway.Part<StoredBacklog>().HasOverflow);
    }

    [PostgresFact]
    public async Task A_purge_also_drops_payments_that_wait_in_the_table()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var gateway = await _rig.StartGatewayAsync(
            "Intake:QueueCapacity=10", "Settling:MaxConcurrency=1", "Settling:CallTimeout=300s",
            "Settling:InDoubtHorizon=300s");
        for (var i = 0; i < 50; i++)
            await gateway.PayAsync();
        await _rig.Default.HoldsAsync(1);

        await gateway.PurgeAsync();
        await Eventually.HoldsAsync(
            () => gateway.Part<UnsettledPayments>().Snapshot().All(payment => payment.Purged), "all are marked");
        await _rig.Default.ClearFaultsAsync();
        var id = await gateway.PayAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        Assert.Equal(2, (await _rig.Default.PaymentsAsync()).Count); // The one that was out already, and the new one.
        Assert.Contains(id, (await _rig.Default.PaymentsAsync()).Keys);
    }

    [PostgresFact]
    public async Task A_payment_that_a_stalled_backend_stores_in_a_closed_epoch_is_adopted_however_late()
    {
        var dead = await _rig.Database.OpenEpochAsync();
        await using var stalled = await _rig.Database.Source.OpenConnectionAsync();
        await using var transaction = await stalled.BeginTransactionAsync();
        await using var insert = new NpgsqlCommand(
            $"INSERT INTO payments VALUES (gen_random_uuid(), 1990, clock_timestamp(), {dead})", stalled);
        await insert.ExecuteNonQueryAsync();
        await _rig.Database.ExecuteAsync($"""
            UPDATE leases SET expires_at = now() - interval '1 hour', closed_at = now() - interval '1 hour'
            WHERE epoch = {dead}
            """);

        var gateway = await _rig.StartGatewayAsync("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s");
        for (var turn = 0; turn < 3; turn++)
            await gateway.Part<Lease>().NextCheckAsync(CancellationToken.None);
        await transaction.CommitAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        await _rig.AssertLedgersAgreeAsync();
        await Eventually.HoldsAsync(
            async () => await _rig.Database.ScalarAsync<long>(
                $"SELECT count(*) FROM leases WHERE epoch = {dead} AND adopted_at IS NULL") == 0,
            "nothing is searched any more");
    }
}

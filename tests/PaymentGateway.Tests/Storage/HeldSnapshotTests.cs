namespace PaymentGateway.Tests.Storage;

/// <summary>
/// What an acceptance reads while a dump, a report or a replication slot holds a snapshot, so that PostgreSQL keeps
/// every version of every row.
/// </summary>
public sealed class HeldSnapshotTests : OwnDatabase
{
    private const int Renewals = 1_000;

    // Enough for Npgsql to prepare a statement, and for PostgreSQL to keep its plan.
    private const int Calls = 12;

    // One payment and several have statements of their own.
    [PostgresTheory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task An_acceptance_reads_no_more_after_a_thousand_renewals_under_a_held_snapshot(int payments)
    {
        var epoch = await Database.OpenEpochAsync();
        async Task<long> CountReadAsync()
        {
            var before = await BlocksReadAsync();
            for (var call = 0; call < Calls; call++)
                await Database.StoreAsync(epoch, payments, Batches.Noon);
            return await BlocksReadAsync() - before;
        }

        await CountReadAsync();
        var fresh = await CountReadAsync();
        await using var held = await Database.HoldAsync(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM payments");
        for (var number = 1; number <= Renewals; number++)
            Assert.True((await Database.Leases.RenewAsync(Batches.Renewal(epoch, number))).Renewed);

        Assert.InRange(await CountReadAsync(), 1, fresh + Calls);
    }

    // A backend hands over what it has counted when it is idle for a while; this makes it do so at once.
    private async Task<long> BlocksReadAsync()
    {
        await Database.Connections.RunAsync(db => db.ExecuteAsync("SELECT pg_stat_force_next_flush()"));
        return await Database.ScalarAsync<long>("""
            SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint
            FROM pg_statio_user_tables WHERE relname <> 'payments'
            """);
    }
}

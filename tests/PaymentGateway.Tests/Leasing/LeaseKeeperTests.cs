using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Leasing;

[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class LeaseKeeperTests : OwnRig
{
    // The search for orphans waits for it, and so does every acceptance.
    [PostgresFact]
    public async Task A_locked_payments_table_does_not_cost_the_lease()
    {
        var gateway = await Rig.StartGatewayAsync();
        await using var held = await Rig.Database.HoldAsync("LOCK TABLE payments");

        await IsHeldForAsync(gateway.Part<Lease>(), TimeSpan.FromSeconds(6));
    }

    [PostgresFact]
    public async Task A_frozen_server_process_does_not_cost_the_lease()
    {
        var gateway = await Rig.StartGatewayAsync();
        var process = await Rig.Database.ScalarAsync<int>("""
            SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND (query LIKE '%UPDATE leases SET expires_at%' OR query LIKE 'SELECT epoch, low_water_mark%')
            LIMIT 1
            """);
        await PostgresServer.FrozenAsync(
            [process], () => IsHeldForAsync(gateway.Part<Lease>(), TimeSpan.FromSeconds(6)));
    }

    // As on a disk whose flush takes so long.
    [PostgresFact]
    public async Task A_renewal_of_a_longer_lease_may_take_longer()
    {
        await using var stages = Stages.Build(
            Rig.Database.ConnectionString, TimeProvider.System, urls: null, ("Gateway:Leasing:LeaseDuration", "15s"));
        var leases = stages.Part<LeaseStore>();
        await leases.AnswersAsync();
        var epoch = await Rig.Database.OpenEpochAsync();
        await Rig.Database.ExecuteAsync("""
            CREATE FUNCTION flush() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$
            """);
        await Rig.Database.ExecuteAsync(
            "CREATE TRIGGER flush BEFORE UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION flush()");

        Assert.True((await leases.RenewAsync(Batches.Renewal(epoch))).Renewed);
    }

    // Longer than a lease, which is 3 s.
    private async Task IsHeldForAsync(Lease lease, TimeSpan time)
    {
        var epoch = lease.Current.Number;
        using var next = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        for (var passed = Stopwatch.StartNew(); passed.Elapsed < time; await next.WaitForNextTickAsync())
        {
            if (!lease.IsTrusted)
                Assert.Fail($"the lease was lost after {passed.Elapsed}; PostgreSQL:\n{await ActivityAsync()}");
        }

        Assert.Equal(epoch, lease.Current.Number);
    }

    private Task<string> ActivityAsync() => Rig.Database.ScalarAsync<string>("""
        SELECT string_agg(concat_ws(' | ', pid, pg_blocking_pids(pid)::text, state, wait_event,
                                    clock_timestamp() - query_start, left(query, 60)), E'\n')
        FROM pg_stat_activity WHERE datname = current_database()
        """);
}

using System.Diagnostics;
using PaymentGateway.Leasing;
using PaymentGateway.Tests.EndToEnd;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>What others wait for does not cost an instance its lease.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class LeaseKeeperTests : IAsyncLifetime
{
    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    // The search for orphans waits for it, and so does every acceptance.
    [PostgresFact]
    public async Task A_locked_payments_table_does_not_cost_the_lease()
    {
        var gateway = await _rig.StartGatewayAsync();
        var lease = gateway.Part<Lease>();
        var epoch = lease.Epoch;
        await using var held = await _rig.Database.Source.OpenConnectionAsync();
        await using var transaction = await held.BeginTransactionAsync();
        await using var command = held.CreateCommand();
        command.CommandText = "LOCK TABLE payments";
        await command.ExecuteNonQueryAsync();

        await IsHeldForAsync(lease, TimeSpan.FromSeconds(6));

        Assert.Equal(epoch, lease.Epoch);
    }

    [PostgresFact]
    public async Task A_frozen_server_process_does_not_cost_the_lease()
    {
        var gateway = await _rig.StartGatewayAsync();
        var lease = gateway.Part<Lease>();
        var epoch = lease.Epoch;
        var process = await _rig.Database.ScalarAsync<int>("""
            SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND (query LIKE '%UPDATE leases SET expires_at%' OR query LIKE 'SELECT epoch, low_water_mark%')
            LIMIT 1
            """);
        PostgresServer.Freeze(process);
        try
        {
            await IsHeldForAsync(lease, TimeSpan.FromSeconds(6));
        }
        finally
        {
            PostgresServer.Thaw(process);
        }

        Assert.Equal(epoch, lease.Epoch);
    }

    // Longer than a lease, which is 3 s.
    private static async Task IsHeldForAsync(Lease lease, TimeSpan time)
    {
        using var next = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        for (var passed = Stopwatch.StartNew(); passed.Elapsed < time; await next.WaitForNextTickAsync())
            Assert.True(lease.IsHeld, $"the lease was lost after {passed.Elapsed}");
    }
}

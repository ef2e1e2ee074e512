using Npgsql;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Storage;

/// <summary>What other instances see of an epoch while it is being handed over.</summary>
public sealed class LeaseReleaseTests : IAsyncLifetime
{
    private readonly TestDatabase _database = new();

    public Task InitializeAsync() => _database.InitializeAsync();

    public Task DisposeAsync() => _database.DisposeAsync();

    // From a closed epoch they would take its payments as in doubt.
    [PostgresFact]
    public async Task An_epoch_is_open_until_its_payments_are_released()
    {
        var epoch = await _database.OpenEpochAsync();
        await _database.Payments.StoreAsync(Batches.ToStore(Batches.SortedIds(3), epoch));
        await using var other = new NpgsqlConnection(_database.ConnectionString);
        await other.OpenAsync();
        await using var transaction = await other.BeginTransactionAsync();
        await using (var hold = new NpgsqlCommand("SELECT FROM payments FOR UPDATE", other, transaction))
            await hold.ExecuteNonQueryAsync();

        var earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);
        var release = _database.Leases.ReleaseAsync(new ReleaseArgs(epoch, earliest, []));
        await Eventually.HoldsAsync(
            async () => await _database.ScalarAsync<long>(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                + "AND wait_event_type = 'Lock'") > 0,
            "the release waits");
        Assert.DoesNotContain(await _database.Leases.OrphanedAsync(), orphaned => orphaned.Epoch == epoch);
        await transaction.RollbackAsync();

        Assert.Equal(3, await release);
        Assert.Contains(await _database.Leases.OrphanedAsync(), orphaned => orphaned.Epoch == epoch);
    }
}

using Npgsql;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Storage;

/// <summary>What other instances see of an epoch while it is being handed over, and of its readings.</summary>
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

    [PostgresFact]
    public async Task Readings_are_those_of_open_leases_and_for_half_a_minute_those_of_closed_ones()
    {
        var epochs = new List<int>();
        foreach (var instance in new[] { "open", "closed", "gone" })
            epochs.Add(await _database.Leases.OpenAsync(new OpenLeaseArgs(instance, TimeSpan.FromMinutes(1))));
        foreach (var epoch in epochs)
            await _database.Leases.RenewAsync(new RenewalArgs(
                epoch, TimeSpan.FromMinutes(1), Batches.Noon, DateTime.UnixEpoch, 1, "", CloseExpired: false,
                Reading: $"of {epoch}"));
        await _database.ExecuteAsync($"""
            UPDATE leases SET closed_at = CASE WHEN instance <> 'open' THEN now() END,
                              read_at = read_at - CASE WHEN instance = 'closed' THEN '0 s' ELSE '31 s' END::interval
            WHERE epoch IN ({string.Join(',', epochs)})
            """);

        var readings = (await _database.Leases.ReadingsAsync()).OrderBy(row => row.Epoch).ToList();

        Assert.Equal(
            [("open", $"of {epochs[0]}", true), ("closed", $"of {epochs[1]}", false)],
            readings.Select(row => (row.Instance, row.Reading, row.AgeSeconds >= 31)));
    }

    [PostgresFact]
    public async Task The_end_of_a_search_deletes_leases_that_ended_a_day_ago_and_own_no_payment()
    {
        await _database.ExecuteAsync("DELETE FROM leases WHERE epoch <> 0");
        await EndedAsync(25);
        var owner = await _database.OpenEpochAsync();
        var (young, open) = (await EndedAsync(23), await _database.OpenEpochAsync());
        await _database.Payments.StoreAsync(Batches.ToStore(Batches.SortedIds(1), owner));
        await EndedAsync(25, owner);
        var dead = await _database.OpenEpochAsync();
        await _database.Leases.CloseAsync(dead);

        await _database.Leases.MarkAdoptedAsync(dead, Batches.Noon);

        Assert.Equal(
            $"0,{owner},{young},{open},{dead}",
            await _database.ScalarAsync<string>("SELECT string_agg(epoch::text, ',' ORDER BY epoch) FROM leases"));

        async Task<int> EndedAsync(int hoursAgo, int? given = null)
        {
            var epoch = given ?? await _database.OpenEpochAsync();
            await _database.ExecuteAsync($"""
                UPDATE leases SET closed_at = now() - interval '{hoursAgo} hours',
                                  adopted_at = now() - interval '{hoursAgo} hours' WHERE epoch = {epoch}
                """);
            return epoch;
        }
    }
}

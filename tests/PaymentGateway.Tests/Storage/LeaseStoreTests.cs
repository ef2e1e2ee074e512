namespace PaymentGateway.Tests.Storage;

public sealed class LeaseStoreTests : OwnDatabase
{
    private static readonly TimeSpan Expired = TimeSpan.FromSeconds(-1);
    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private long _renewals;

    private LeaseStore Leases => Database.Leases;

    private AdoptionStore Adoptions => Database.Adoptions;

    [PostgresFact]
    public async Task Epoch_0_is_listed_for_adoption_only_while_it_has_released_payments()
    {
        await Database.ExecuteAsync($"DELETE FROM payments WHERE owner_epoch = {Owners.Sql.Nobody}");
        Assert.DoesNotContain(await Adoptions.OrphanedAsync(""), orphaned => orphaned.Epoch == 0);
        var owner = await Database.OpenEpochAsync();
        await Database.StoreAsync(owner, 1);

        await Leases.ReleaseAsync(new ReleaseArgs(owner, Batches.Earliest, []));

        Assert.Contains(await Adoptions.OrphanedAsync(""), orphaned => orphaned.Epoch == 0);
    }

    [PostgresFact]
    public async Task A_renewal_prolongs_its_lease_and_closes_expired_ones_only_on_request()
    {
        var epochs = new List<int>();
        foreach (var duration in new[] { Expired, Expired, Minute })
            epochs.Add(await Database.OpenEpochAsync(duration));
        Assert.True((await Leases.RenewAsync(Renewal(epochs[0]))).Renewed);
        Assert.Empty(await ClosedAsync());

        var renewal = await CloseExpiredAsync();

        Assert.Equal(
            (true, true, await Database.LedgerState.StateAsync()), (renewal.Renewed, renewal.IsOpen, renewal.Ledger));
        Assert.Equal(epochs[1], Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task A_closed_epoch_closes_no_other_and_marks_no_use_of_fallback()
    {
        await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        var lost = await Database.OpenEpochAsync();
        await Leases.CloseAsync(lost);

        var renewal = await Leases.RenewAsync(Renewal(lost) with
        {
            CloseExpired = true,
            UsedProcessors = ProcessorSet.Of(Known.Fallback).Bits,
        });

        Assert.Equal((false, false), (renewal.Renewed, renewal.IsOpen));
        Assert.False(await Database.LeaseAsync<bool>(lost, "used_processors & 4 <> 0"));
        Assert.Equal(lost, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task An_expired_lease_whose_row_is_locked_is_skipped_and_the_others_are_closed()
    {
        var held = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        var expired = await Leases.OpenAsync(new OpenLeaseArgs("two", Expired));
        await using var other = await Database.HoldAsync($"SELECT FROM leases WHERE epoch = {held} FOR UPDATE");

        await CloseExpiredAsync();
        Assert.Equal(expired, Assert.Single(await ClosedAsync()).Epoch);

        await other.ExecuteAsync("COMMIT");
        await CloseExpiredAsync();
        Assert.Equal(2, (await ClosedAsync()).Count);
    }

    // A renewal of a server process that stalled, say, knows nothing of what was adopted meanwhile.
    [PostgresFact]
    public async Task A_low_water_mark_that_an_adoption_lowered_is_not_raised_by_an_older_renewal()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var adoption = new AdoptArgs(dead, adopter, Batches.Earliest, 100);
        var later = Batches.Noon.AddHours(1);
        Assert.True((await Leases.RenewAsync(Renewal(adopter) with { LowWaterMark = later })).Renewed);
        await Adoptions.AdoptAsync(adoption with { Number = ++_renewals });
        Assert.Equal(later, await Database.LeaseAsync<DateTime>(adopter, "low_water_mark"));
        var batch = await Database.StoreAsync(dead, 3);
        var late = Renewal(adopter) with { LowWaterMark = later };

        await Adoptions.AdoptAsync(adoption with { Number = ++_renewals });
        var renewal = await Leases.RenewAsync(late);

        Assert.Equal((false, true), (renewal.Renewed, renewal.IsOpen));
        await Leases.CloseAsync(adopter);
        var orphaned = Assert.Single(await ClosedAsync(), lease => lease.Epoch == adopter);
        Assert.Equal(batch.AcceptedAts[0], orphaned.LowWaterMark);
        var next = await Database.OpenEpochAsync();
        Assert.Equal(3, (await Adoptions.AdoptAsync(new AdoptArgs(adopter, next, orphaned.LowWaterMark, 100))).Count);
    }

    [PostgresFact]
    public async Task An_adoption_begins_at_the_low_water_mark_and_takes_the_oldest_up_to_the_limit()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await Database.StoreAsync(dead, 10);

        var adopted = await Adoptions.AdoptAsync(new AdoptArgs(dead, adopter, batch.AcceptedAts[2], 3));

        Assert.Equal(batch.Ids[2..5].Order(), adopted.Select(row => row.CorrelationId).Order());
    }

    [PostgresFact]
    public async Task Concurrent_adopters_never_get_the_same_payment_and_never_deadlock()
    {
        var (dead, _) = await DeadAndAdopterAsync();
        var batch = await Database.StoreAsync(dead, 2_000);

        var taken = new ConcurrentBag<Guid>();
        var adopters = Enumerable.Range(0, 4).Select(_ => Task.Run(() => AdoptPagesAsync(dead, taken, 2_000)));
        await Task.WhenAll(adopters).WaitAsync(TimeSpan.FromSeconds(60));

        Assert.Equal(batch.Ids, taken.Order());
    }

    // It holds its own lease meanwhile, which a renewal needs.
    [PostgresFact]
    public async Task An_adoption_waits_only_a_moment_for_a_payment_that_another_transaction_holds()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await Database.StoreAsync(dead, 3);
        await using var held = await Database.HoldAsync(
            $"SELECT 1 FROM payments WHERE correlation_id = '{batch.Ids[1]}' FOR UPDATE");

        var refused = await Assert.ThrowsAsync<PostgresException>(
            () => Adoptions.AdoptAsync(new AdoptArgs(dead, adopter, Batches.Earliest, 100)));

        Assert.Equal(PostgresErrorCodes.LockNotAvailable, refused.SqlState);
        Assert.True((await Leases.RenewAsync(Renewal(adopter))).Renewed);
    }

    [PostgresFact]
    public async Task An_adopter_that_was_closed_itself_gets_nothing()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        await Database.StoreAsync(dead, 3);
        await Leases.CloseAsync(adopter);

        var adopted = await Adoptions.AdoptAsync(new AdoptArgs(dead, adopter, Batches.Earliest, 100));

        Assert.Empty(adopted);
        Assert.Equal(3, await CountOwnedAsync(dead));
    }

    [PostgresFact]
    public async Task The_search_in_a_closed_epoch_goes_on_while_it_has_unsettled_payments()
    {
        var (dead, _) = await DeadAndAdopterAsync();
        await Database.StoreAsync(dead, 3);
        await Leases.CloseAsync(dead);

        // By an adopter whose page was empty, because another one had the claim.
        await Adoptions.MarkAdoptedAsync(dead, Batches.Earliest);

        Assert.Contains(await ClosedAsync(), orphaned => orphaned.Epoch == dead);
    }

    [PostgresFact]
    public async Task Transactions_that_only_read_or_maintain_the_payments_are_no_writers()
    {
        await using var reader = await Database.HoldAsync(
            "LOCK TABLE payments IN SHARE UPDATE EXCLUSIVE MODE; SELECT count(*) FROM payments");

        // A server of several forgets the names of transactions that have ended a while later.
        await Eventually.HoldsAsync(
            async () => (await Adoptions.WritersAsync()).Count == 0, "those that have written are over");
    }

    // From a closed epoch they would take its payments as in doubt.
    [PostgresFact]
    public async Task An_epoch_is_open_until_its_payments_are_released()
    {
        var epoch = await Database.OpenEpochAsync();
        var other = await Database.OpenEpochAsync();
        await Database.StoreAsync(epoch, 3);
        await Database.StoreAsync(other, 2);
        await using var held = await Database.HoldAsync("UPDATE payments SET attempts = 1");

        var release = Leases.ReleaseAsync(new ReleaseArgs(epoch, Batches.Earliest, []));
        await Database.WaitsForLockAsync("the release waits");
        Assert.DoesNotContain(await Adoptions.OrphanedAsync(""), orphaned => orphaned.Epoch == epoch);
        await held.ExecuteAsync("ROLLBACK");

        Assert.Equal(3, await release);
        Assert.Equal(2, await CountOwnedAsync(other));
        Assert.Contains(await Adoptions.OrphanedAsync(""), orphaned => orphaned.Epoch == epoch);
    }

    [PostgresFact]
    public async Task Readings_are_those_of_open_leases_and_for_half_a_minute_those_of_closed_ones()
    {
        var store = new ReadingStore(Database.Shared);
        var epochs = new List<int>();
        foreach (var instance in new[] { "open", "closed", "gone" })
            epochs.Add(await Leases.OpenAsync(new OpenLeaseArgs(instance, Minute)));
        foreach (var epoch in epochs)
            await store.WriteAsync(new ReadingArgs(epoch, $"of {epoch}"));
        await Database.ExecuteAsync($"""
            UPDATE leases SET closed_at = CASE WHEN instance <> 'open' THEN now() END
            WHERE epoch IN ({string.Join(',', epochs)});
            UPDATE instance_readings SET read_at = read_at - interval '31 s' WHERE epoch <> {epochs[1]}
            """);

        var readings = (await store.ReadAsync()).OrderBy(row => row.Epoch).ToList();

        Assert.Equal(
            [("open", $"of {epochs[0]}", true), ("closed", $"of {epochs[1]}", false)],
            readings.Select(row => (row.Instance, row.Reading, row.AgeSeconds >= 31)));
    }

    [PostgresFact]
    public async Task The_end_of_a_search_deletes_leases_that_ended_a_day_ago_and_own_no_payment()
    {
        await Database.ExecuteAsync("DELETE FROM leases WHERE epoch <> 0");
        await EndedAsync(25);
        var owner = await Database.OpenEpochAsync();
        var (young, open) = (await EndedAsync(23), await Database.OpenEpochAsync());
        await Database.StoreAsync(owner, 1);
        await EndedAsync(25, owner);
        var dead = await Database.OpenEpochAsync();
        await Leases.CloseAsync(dead);

        await Adoptions.MarkAdoptedAsync(dead, Batches.Noon);

        Assert.Equal(
            $"0,{owner},{young},{open},{dead}",
            await Database.ScalarAsync<string>("SELECT string_agg(epoch::text, ',' ORDER BY epoch) FROM leases"));

        async Task<int> EndedAsync(int hoursAgo, int? given = null)
        {
            var epoch = given ?? await Database.OpenEpochAsync();
            await Database.ExecuteAsync($"""
                UPDATE leases SET closed_at = now() - interval '{hoursAgo} hours',
                                  adopted_at = now() - interval '{hoursAgo} hours' WHERE epoch = {epoch}
                """);
            return epoch;
        }
    }

    private RenewalArgs Renewal(int epoch) => Batches.Renewal(epoch, ++_renewals);

    // A page that another adopter took from under this one is empty, or lost to a deadlock; there may be more.
    // Until all is taken: an adopter that finds the lease row locked by another one gets an empty page.
    private async Task AdoptPagesAsync(int dead, ConcurrentBag<Guid> taken, int all)
    {
        var adopter = await Database.OpenEpochAsync();
        while (taken.Count < all)
            foreach (var row in await Adoptions.AdoptAsync(new AdoptArgs(dead, adopter, Batches.Earliest, 100)))
                taken.Add(row.CorrelationId);
    }

    // Without epoch 0: it owns what clean stops released.
    private async Task<List<EpochRow>> ClosedAsync() =>
        (await Adoptions.OrphanedAsync("")).Where(orphaned => orphaned.Epoch != 0).ToList();

    private async Task<(int Dead, int Adopter)> DeadAndAdopterAsync()
    {
        var (dead, adopter) = (await Database.OpenEpochAsync(), await Database.OpenEpochAsync());
        await Database.ExecuteAsync($"UPDATE leases SET expires_at = now() WHERE epoch = {dead}");
        return (dead, adopter);
    }

    private async Task<RenewalRow> CloseExpiredAsync() =>
        await Leases.RenewAsync(Renewal(await Database.OpenEpochAsync()) with { CloseExpired = true });

    private Task<long> CountOwnedAsync(int owner) =>
        Database.ScalarAsync<long>($"SELECT count(*) FROM payments WHERE owner_epoch = {owner}");
}

using System.Collections.Concurrent;
using Npgsql;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Storage;

public sealed class LeaseStoreTests : IAsyncLifetime
{
    private static readonly TimeSpan Expired = TimeSpan.FromSeconds(-1);
    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);
    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    private readonly TestDatabase _database = new();
    private long _renewals;

    private LeaseStore Leases => _database.Leases;

    public Task InitializeAsync() => _database.InitializeAsync();

    public Task DisposeAsync() => _database.DisposeAsync();

    [PostgresFact]
    public async Task Epoch_0_is_listed_for_adoption_only_while_it_has_released_payments()
    {
        await _database.ExecuteAsync($"DELETE FROM payments WHERE owner_epoch = {PaymentStates.Sql.Nobody}");
        Assert.DoesNotContain(await Leases.OrphanedAsync(), orphaned => orphaned.Epoch == 0);
        var owner = await _database.OpenEpochAsync();
        await StoreAsync(owner, 1);

        await Leases.ReleaseAsync(new ReleaseArgs(owner, Earliest, []));

        Assert.Contains(await Leases.OrphanedAsync(), orphaned => orphaned.Epoch == 0);
    }

    [PostgresFact]
    public async Task Each_start_is_an_epoch_of_its_own()
    {
        var first = await Leases.OpenAsync(new OpenLeaseArgs("same", Minute));
        var second = await Leases.OpenAsync(new OpenLeaseArgs("same", Minute));

        Assert.True(first > 0);
        Assert.True(second > first);
    }

    [PostgresFact]
    public async Task A_renewal_prolongs_the_lease_and_raises_the_low_water_mark()
    {
        var epoch = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));

        Assert.True(await RenewAsync(epoch, Batches.Noon));

        await CloseExpiredAsync();
        Assert.Empty(await ClosedAsync());
        await Leases.CloseAsync(epoch);
        Assert.Equal(Batches.Noon, Assert.Single(await ClosedAsync()).LowWaterMark);
    }

    [PostgresFact]
    public async Task A_closed_epoch_cannot_be_renewed()
    {
        var epoch = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        await CloseExpiredAsync();

        Assert.False(await RenewAsync(epoch, Batches.Noon));
        Assert.Equal(epoch, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task Only_expired_leases_are_closed_and_only_on_request()
    {
        var expired = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        await Leases.OpenAsync(new OpenLeaseArgs("two", Minute));

        await Leases.RenewAsync(Renewal(await _database.OpenEpochAsync()));
        Assert.Empty(await ClosedAsync());
        await CloseExpiredAsync();

        Assert.Equal(expired, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task Earlier_epochs_of_an_instance_that_is_proven_terminated_are_closed_at_once()
    {
        var earlier = await Leases.OpenAsync(new OpenLeaseArgs("one", Minute));
        await Leases.OpenAsync(new OpenLeaseArgs("two", Minute));
        var now = await Leases.OpenAsync(new OpenLeaseArgs("one", Minute));

        await Leases.RenewAsync(Renewal(now) with { ProvenTerminated = "one" });

        Assert.Equal(earlier, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task A_renewal_prolongs_closes_others_and_returns_the_state_of_the_ledger()
    {
        var expired = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));

        var renewal = await CloseExpiredAsync();

        Assert.Equal(
            (true, true, await _database.LedgerState.StateAsync()), (renewal.Renewed, renewal.IsOpen, renewal.Ledger));
        Assert.Equal(expired, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task A_closed_epoch_closes_no_other()
    {
        await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        var lost = await _database.OpenEpochAsync();
        await Leases.CloseAsync(lost);

        var renewal = await Leases.RenewAsync(Renewal(lost) with { CloseExpired = true });

        Assert.Equal((false, false), (renewal.Renewed, renewal.IsOpen));
        Assert.Equal(lost, Assert.Single(await ClosedAsync()).Epoch);
    }

    [PostgresFact]
    public async Task An_expired_lease_whose_row_is_locked_is_skipped_and_the_others_are_closed()
    {
        var held = await Leases.OpenAsync(new OpenLeaseArgs("one", Expired));
        var expired = await Leases.OpenAsync(new OpenLeaseArgs("two", Expired));
        await using var other = await _database.Source.OpenConnectionAsync();
        await using var transaction = await other.BeginTransactionAsync();
        await using var hold = other.CreateCommand();
        hold.CommandText = $"SELECT FROM leases WHERE epoch = {held} FOR UPDATE";
        await hold.ExecuteNonQueryAsync();

        await CloseExpiredAsync();
        Assert.Equal(expired, Assert.Single(await ClosedAsync()).Epoch);

        await transaction.CommitAsync();
        await CloseExpiredAsync();
        Assert.Equal(2, (await ClosedAsync()).Count);
    }

    // Of a server process that stalled, say: it knows nothing of what was adopted meanwhile.
    [PostgresFact]
    public async Task A_renewal_that_comes_after_a_newer_adoption_does_not_undo_its_low_water_mark()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 3);
        await RenewAsync(adopter, Batches.Noon.AddHours(1));
        var late = Renewal(adopter) with { LowWaterMark = Batches.Noon.AddHours(1) };

        await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100, ++_renewals));
        var renewal = await Leases.RenewAsync(late);

        Assert.Equal((false, true), (renewal.Renewed, renewal.IsOpen));
        await Leases.CloseAsync(adopter);
        var orphaned = Assert.Single(await ClosedAsync(), lease => lease.Epoch == adopter);
        Assert.Equal(batch.AcceptedAts[0], orphaned.LowWaterMark);
    }

    [PostgresFact]
    public async Task Unsettled_payments_of_a_dead_owner_are_adopted_in_doubt()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 10);
        var settled = Batches.ToStore(batch.Ids[..4], dead);
        await _database.Ledger.RecordAsync(Batches.ToRecord(settled));

        var adopted = await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100));

        Assert.Equal(batch.Ids[4..].Order(), adopted.Select(row => row.CorrelationId).Order());
        Assert.All(
            adopted, row => Assert.Equal((adopter, PaymentStates.InDoubtAtDefault), (row.OwnerEpoch, row.Handover)));
        Assert.Empty(await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100)));
    }

    [PostgresFact]
    public async Task The_oldest_are_adopted_first_and_no_more_than_the_limit()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 10);

        var adopted = await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 3));

        Assert.Equal(batch.Ids[..3].Order(), adopted.Select(row => row.CorrelationId).Order());
    }

    [PostgresFact]
    public async Task Payments_below_the_low_water_mark_are_not_searched()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 10);

        var adopted = await Leases.AdoptAsync(new AdoptArgs(dead, adopter, batch.AcceptedAts[7], 100));

        Assert.Equal(batch.Ids[7..].Order(), adopted.Select(row => row.CorrelationId).Order());
    }

    [PostgresFact]
    public async Task An_adoption_lowers_the_adopters_low_water_mark_to_what_it_adopted()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 3);
        await RenewAsync(adopter, Batches.Noon.AddHours(1));

        await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100));

        await Leases.CloseAsync(adopter);
        var orphaned = Assert.Single(await ClosedAsync(), lease => lease.Epoch == adopter);
        Assert.Equal(batch.AcceptedAts[0], orphaned.LowWaterMark);
        var next = await _database.OpenEpochAsync();
        Assert.Equal(3, (await Leases.AdoptAsync(new AdoptArgs(adopter, next, orphaned.LowWaterMark, 100))).Count);
    }

    [PostgresFact]
    public async Task An_adoption_of_nothing_leaves_the_low_water_mark()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        await RenewAsync(adopter, Batches.Noon);

        await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100));

        await Leases.CloseAsync(adopter);
        var orphaned = Assert.Single(await ClosedAsync(), lease => lease.Epoch == adopter);
        Assert.Equal(Batches.Noon, orphaned.LowWaterMark);
    }

    [PostgresFact]
    public async Task Concurrent_adopters_never_get_the_same_payment_and_never_deadlock()
    {
        var (dead, _) = await DeadAndAdopterAsync();
        var batch = await StoreAsync(dead, 2_000);

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
        var batch = await StoreAsync(dead, 3);
        await using var connection = await _database.Source.OpenConnectionAsync();
        await using var transaction = await connection.BeginTransactionAsync();
        await using var locking = connection.CreateCommand();
        locking.CommandText = $"SELECT 1 FROM payments WHERE correlation_id = '{batch.Ids[1]}' FOR UPDATE";
        await locking.ExecuteNonQueryAsync();

        var refused = await Assert.ThrowsAsync<PostgresException>(
            () => Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100)));

        Assert.Equal(PostgresErrorCodes.LockNotAvailable, refused.SqlState);
        Assert.True(await RenewAsync(adopter, Batches.Noon));
    }

    [PostgresFact]
    public async Task An_adopter_that_was_closed_itself_gets_nothing()
    {
        var (dead, adopter) = await DeadAndAdopterAsync();
        await StoreAsync(dead, 3);
        await Leases.CloseAsync(adopter);

        var adopted = await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100));

        Assert.Empty(adopted);
        Assert.Equal(3, await _database.ScalarAsync<long>($"SELECT count(*) FROM payments WHERE owner_epoch = {dead}"));
    }

    [PostgresFact]
    public async Task The_search_in_a_closed_epoch_goes_on_while_it_has_unsettled_payments()
    {
        var (dead, _) = await DeadAndAdopterAsync();
        await StoreAsync(dead, 3);
        await Leases.CloseAsync(dead);

        // By an adopter whose page was empty, because another one had the claim.
        await Leases.MarkAdoptedAsync(dead, Earliest);

        Assert.Contains(await ClosedAsync(), orphaned => orphaned.Epoch == dead);
    }

    [PostgresFact]
    public async Task A_clean_stop_releases_unsent_payments_as_unsent_and_payments_in_doubt_as_in_doubt()
    {
        var epoch = await _database.OpenEpochAsync();
        var batch = await StoreAsync(epoch, 6);
        await _database.Ledger.RecordAsync(Batches.ToRecord(Batches.ToStore(batch.Ids[..2], epoch)));

        var released = await Leases.ReleaseAsync(new ReleaseArgs(epoch, Earliest, batch.Ids[4..]));

        Assert.Equal(4, released);
        Assert.False(await RenewAsync(epoch, Batches.Noon));
        var adopter = await _database.OpenEpochAsync();
        var adopted = await Leases.AdoptAsync(new AdoptArgs(0, adopter, Earliest, 100));
        Assert.Equal(batch.Ids[2..4].Order(), Ids(adopted, PaymentStates.Unsent));
        Assert.Equal(batch.Ids[4..].Order(), Ids(adopted, PaymentStates.InDoubtAtDefault));
    }

    [PostgresFact]
    public async Task A_payment_released_in_doubt_stays_in_doubt_and_one_that_an_adopter_may_have_sent_becomes_so()
    {
        var first = await _database.OpenEpochAsync();
        var batch = await StoreAsync(first, 2);
        await Leases.ReleaseAsync(new ReleaseArgs(first, Earliest, batch.Ids[1..]));
        var second = await _database.OpenEpochAsync();
        await Leases.AdoptAsync(new AdoptArgs(0, second, Earliest, 100));
        await Leases.CloseAsync(second); // It dies, and nobody knows whether it has sent the first one.
        var third = await _database.OpenEpochAsync();

        var adopted = await Leases.AdoptAsync(new AdoptArgs(second, third, Earliest, 100));

        Assert.Equal(2, adopted.Count);
        Assert.All(adopted, row => Assert.Equal(PaymentStates.InDoubtAtDefault, row.Handover));
    }

    [PostgresFact]
    public async Task A_release_leaves_the_payments_of_other_epochs()
    {
        var (one, other) = (await _database.OpenEpochAsync(), await _database.OpenEpochAsync());
        await StoreAsync(other, 3);

        Assert.Equal(0, await Leases.ReleaseAsync(new ReleaseArgs(one, Earliest, [])));
        Assert.Equal(3, await CountOwnedAsync(other));
    }

    [PostgresFact]
    public async Task The_search_in_a_closed_epoch_ends_when_it_has_nothing_unsettled()
    {
        var (dead, _) = await DeadAndAdopterAsync();
        await Leases.MarkAdoptedAsync(dead, Earliest);
        await Leases.CloseAsync(dead);
        Assert.Single(await ClosedAsync());

        await Leases.MarkAdoptedAsync(dead, Earliest);

        Assert.Empty(await ClosedAsync());
    }

    [PostgresFact]
    public async Task Transactions_that_only_read_or_maintain_the_payments_are_no_writers()
    {
        await using var reader = await _database.Source.OpenConnectionAsync();
        await using var transaction = await reader.BeginTransactionAsync();
        await using var command = reader.CreateCommand();
        command.CommandText = "LOCK TABLE payments IN SHARE UPDATE EXCLUSIVE MODE; SELECT count(*) FROM payments";
        await command.ExecuteNonQueryAsync();

        Assert.Empty(await Leases.WritersAsync());
    }

    private async Task<bool> RenewAsync(int epoch, DateTime lowWaterMark) =>
        (await Leases.RenewAsync(Renewal(epoch) with { LowWaterMark = lowWaterMark })).Renewed;

    private RenewalArgs Renewal(int epoch) =>
        new(epoch, Minute, Batches.Noon, DateTime.UnixEpoch, ++_renewals, "", CloseExpired: false);

    private static IEnumerable<Guid> Ids(List<StoredPayment> rows, short handover) =>
        rows.Where(row => row.Handover == handover).Select(row => row.CorrelationId).Order();

    // A page that another adopter took from under this one is empty, or lost to a deadlock; there may be more.
    // Until all is taken: an adopter that finds the lease row locked by another one gets an empty page.
    private async Task AdoptPagesAsync(int dead, ConcurrentBag<Guid> taken, int all)
    {
        var adopter = await _database.OpenEpochAsync();
        while (taken.Count < all)
            foreach (var row in await Leases.AdoptAsync(new AdoptArgs(dead, adopter, Earliest, 100)))
                taken.Add(row.CorrelationId);
    }

    // Without epoch 0: it owns what clean stops released.
    private async Task<List<OrphanedEpoch>> ClosedAsync() =>
        (await Leases.OrphanedAsync()).Where(orphaned => orphaned.Epoch != 0).ToList();

    private async Task<(int Dead, int Adopter)> DeadAndAdopterAsync()
    {
        var (dead, adopter) = (await _database.OpenEpochAsync(), await _database.OpenEpochAsync());
        await _database.ExecuteAsync($"UPDATE leases SET expires_at = now() WHERE epoch = {dead}");
        return (dead, adopter);
    }

    // Its last payments come before it is closed, as in life.
    private async Task<StoreArgs> StoreAsync(int owner, int count)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), owner);
        Assert.Equal(count, await _database.Payments.StoreAsync(batch));
        return batch;
    }

    private async Task<RenewalRow> CloseExpiredAsync() =>
        await Leases.RenewAsync(Renewal(await _database.OpenEpochAsync()) with { CloseExpired = true });

    private Task<long> CountOwnedAsync(int owner) =>
        _database.ScalarAsync<long>($"SELECT count(*) FROM payments WHERE owner_epoch = {owner}");
}

namespace PaymentGateway.Tests.Storage;

public sealed class RetentionStoreTests : OwnDatabase
{
    private const int Many = 40;

    private static readonly TimeSpan Month = TimeSpan.FromDays(30);
    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

    // A whole hour, so that the tests know its buckets.
    private static readonly DateTime Old = Hour(DateTime.UtcNow.AddDays(-40));

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        if (PostgresServer.IsInstalled)
        {
            await BeganAsync(Old.AddDays(-1));
            // Payments of these tests were recorded when they were charged, unless a test says otherwise.
            await RecordedAtAsync("'-infinity'");
        }
    }

    [PostgresFact]
    public async Task Old_settled_payments_leave_and_unsettled_parked_and_young_ones_stay()
    {
        var epoch = await Database.OpenEpochAsync();
        await SettleAsync(epoch, Many, Old);
        var unsettled = await Database.StoreAsync(epoch, 2, Old);
        var parked = await SettleAsync(epoch, 1, Old);
        await Database.ParkAsync($"correlation_id = '{parked.Ids[0]}'");
        // Accepted long ago, and charged only now.
        var late = await Database.StoreAsync(epoch, 1, Old);
        await Database.Ledger.RecordAsync(Batches.ToRecord(late, requestedAt: DateTime.UtcNow));
        var young = await SettleAsync(epoch, 3, DateTime.UtcNow.AddDays(-29));
        var before = await Database.SummariseAsync(null, null);

        Assert.Equal(Many, await RemoveAllAsync(page: 7));

        Guid[] kept = [.. unsettled.Ids, .. parked.Ids, .. late.Ids, .. young.Ids];
        Assert.Equal(kept.Order(), await IdsAsync("payments"));
        Assert.Equal(parked.Ids.Concat(late.Ids).Concat(young.Ids).Order(), await IdsAsync("settlements"));
        Assert.Equal(before, await Database.SummariseAsync(null, null));
        Assert.Equal(0, await RemoveAllAsync(page: 7));
    }

    [PostgresFact]
    public async Task Whole_buckets_keep_their_sums_and_a_window_that_cuts_one_is_refused()
    {
        await SettleAsync(await Database.OpenEpochAsync(), Many, Old.AddSeconds(7));
        var (from, to) = (Old.AddSeconds(5), Old.AddSeconds(10) - Microsecond);
        var before = await Database.SummariseAsync(from, to);
        Assert.Equal(before, await Database.SummariseAsync(Old.AddSeconds(7), to));

        await RemoveAllAsync(page: 500);

        Assert.Equal(Many, before.Default.TotalRequests);
        Assert.Equal(before, await Database.SummariseAsync(from, to));
        Assert.Equal(before, await Database.SummariseAsync(null, to));
        Assert.Equal(before, await Database.SummariseAsync(from, DateTime.UtcNow));
        Assert.Equal(before, await Database.SummariseAsync(Old, Old.AddHours(1) - Microsecond));
        await AssertRefusedAsync(from + Microsecond, to, "from", $"{from:yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await AssertRefusedAsync(from + Microsecond, null, "from", $"{from:yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await AssertRefusedAsync(from, to - Microsecond, "to", $"{to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
        await AssertRefusedAsync(null, from, "to", $"{to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
        // What is kept is summed up to the microsecond.
        var recent = await Database.SummariseAsync(Hour(DateTime.UtcNow) + Microsecond, null);
        Assert.Equal(0, recent.Default.TotalRequests);
    }

    [PostgresFact]
    public async Task What_left_is_not_recorded_again_and_what_comes_again_is_counted_once()
    {
        var epoch = await Database.OpenEpochAsync();
        var outcomes = Batches.ToRecord(await SettleAsync(epoch, Many, Old), requestedAt: Old);
        await RemoveAllAsync(page: 500);
        var before = await Database.SummariseAsync(null, null);

        // An owner that does not know that its statement went through repeats it.
        Assert.Equal(0, await Database.Ledger.RecordAsync(outcomes));
        // A client repeats its payment; the processor says 422, and when it had charged it.
        var again = Batches.ToStore(outcomes.Ids, epoch, DateTime.UtcNow);
        Assert.Equal(Many, (await Database.Payments.StoreAsync(again)).Length);
        Assert.Equal(Many, await Database.Ledger.RecordAsync(Batches.ToRecord(again, requestedAt: Old)));

        Assert.Equal(before, await Database.SummariseAsync(null, null));
        Assert.Equal(before, await Database.SummariseAsync(Old, Old.AddHours(1) - Microsecond));
        // One that was charged anew is a charge more.
        var anew = await SettleAsync(epoch, 1, DateTime.UtcNow);
        Assert.Equal(Many + anew.Ids.Length, (await Database.SummariseAsync(null, null)).Default.TotalRequests);
    }

    // As a correction does it, the payment first; whoever holds that has its settlement to itself.
    [PostgresTheory]
    [InlineData("may_be_at = 6", "DELETE FROM settlements")]
    [InlineData(TestDatabase.Parked, "UPDATE settlements SET attempts = 9")]
    public async Task A_payment_that_is_put_back_or_parked_at_that_moment_stays(string change, string then)
    {
        var batch = await SettleAsync(await Database.OpenEpochAsync(), Many, Old);
        var chosen = $"WHERE correlation_id = '{batch.Ids[3]}'";
        // So that it waits as long as this test needs.
        await Database.ExecuteAsync(
            "ALTER FUNCTION remove_old_payments(timestamptz, interval, int) SET lock_timeout = '10s'");
        await using var changing = await Database.HoldAsync($"UPDATE payments SET {change} {chosen}");
        var removing = RemoveAsync();
        await Database.WaitsForLockAsync("the removal waits for the payment");
        await changing.ExecuteAsync($"{then} {chosen}; COMMIT");

        try
        {
            Assert.Equal(Many - 1, await removing);
        }
        catch (PostgresException changed) when (changed.SqlState == PostgresErrorCodes.SerializationFailure)
        {
            Assert.Equal(Many - 1, await RemoveAsync());
        }

        Assert.Equal(batch.Ids[3], Assert.Single(await IdsAsync("payments")));
    }

    // PostgreSQL's clock cannot be moved here: it is ahead of an instance that is behind, and behind one that is ahead.
    [PostgresTheory]
    [InlineData(29, 60)]
    [InlineData(40, -11)]
    public async Task A_payment_stays_that_is_young_by_one_of_the_two_clocks(int daysOld, int daysAhead)
    {
        await SettleAsync(await Database.OpenEpochAsync(), Many, DateTime.UtcNow.AddDays(-daysOld));

        Assert.Equal(0, await RemoveAsync(now: DateTime.UtcNow.AddDays(daysAhead)));

        Assert.Equal(Many, (await IdsAsync("payments")).Length);
        Assert.Equal(
            Hour(DateTime.UtcNow.AddDays(Math.Min(0, daysAhead)) - Month), await KeptFromAsync(),
            TimeSpan.FromHours(1));
    }

    [PostgresFact]
    public async Task Whole_hours_leave_and_kept_from_is_the_first_hour_that_stays()
    {
        var now = Hour(DateTime.UtcNow).AddMinutes(-1);
        var due = Hour(now) - Month;
        var epoch = await Database.OpenEpochAsync();
        await SettleAsync(epoch, 1, due - Microsecond);
        var young = await SettleAsync(epoch, 1, due);
        // As after both clocks were ahead.
        await Database.ExecuteAsync("UPDATE ledger SET kept_from = now() + interval '60 days'");

        Assert.Equal(1, await RemoveAsync(now: now));

        Assert.Equal(young.Ids, await IdsAsync("payments"));
        Assert.Equal(due, await KeptFromAsync());
        // An instance with a longer retention takes nothing back.
        Assert.Equal(0, await RemoveAsync(now: now.AddDays(-30)));
        Assert.Equal(due, await KeptFromAsync());
    }

    [PostgresTheory]
    [InlineData("SELECT FROM ledger FOR UPDATE", "SELECT 1")]
    [InlineData(
        "UPDATE payments SET owner_epoch = 0, may_be_at = 0 WHERE correlation_id = '{0}'",
        "UPDATE payments SET owner_epoch = 0, may_be_at = 0")]
    public async Task A_removal_gives_way_to_another_one_and_to_an_adoption_that_holds_one_of_its_payments(
        string held, string then)
    {
        var settled = await SettleAsync(await Database.OpenEpochAsync(), Many, Old);
        await using var other = await Database.HoldAsync(
            held.Replace("{0}", $"{settled.Ids[^1]}", StringComparison.Ordinal));
        Assert.Equal(0, await RemoveAsync());

        await other.ExecuteAsync($"{then}; COMMIT");
        Assert.Equal(Many, await RemoveAsync());
    }

    // Sorted ids, so neither deadlocks with the other; and a batch waits for one page at most.
    [PostgresFact]
    public async Task Ids_that_leave_may_be_accepted_at_the_same_moment()
    {
        var epoch = await Database.OpenEpochAsync();
        await SettleAsync(epoch, 50 * Many, Old);
        var ids = await IdsAsync("payments");
        var removing = Task.Run(async () =>
        {
            var removed = 0;
            while (await RemoveAsync(Many) is var page and > 0)
                removed += page;
            return removed;
        });

        var accepted = 0;
        while (accepted < ids.Length)
            accepted += (await Database.Payments.StoreAsync(Batches.ToStore(ids, epoch, DateTime.UtcNow))).Length;

        Assert.Equal(ids.Length, accepted);
        Assert.Equal(ids.Length, await removing);
        Assert.Equal(ids, await IdsAsync("payments"));
        Assert.Empty(await IdsAsync("settlements"));
    }

    [PostgresFact]
    public async Task A_purge_begins_a_ledger_of_which_nothing_has_left()
    {
        var epoch = await Database.OpenEpochAsync();
        await SettleAsync(epoch, Many, Old);
        await RemoveAllAsync(page: 500);
        Assert.NotEqual(default, await KeptFromAsync());

        await Database.PurgeAsync();

        Assert.Equal(default, await KeptFromAsync());
        await BeganAsync(Old);
        await SettleAsync(epoch, 2, Old);
        Assert.Equal(2, (await Database.SummariseAsync(Old - Microsecond, null)).Default.TotalRequests);
        Assert.Equal(2, await RemoveAllAsync(page: 500));
    }

    // Their ids are known at the processor, and their totals are not in this ledger.
    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_was_charged_before_a_purge_or_a_crash_is_counted_when_it_comes_again(bool isPurge)
    {
        var epoch = await Database.OpenEpochAsync();
        var charged = await SettleAsync(epoch, Many, Old);
        await BeganAsync(DateTime.MinValue);
        if (isPurge)
            await Database.PurgeAsync();
        else
        {
            await Database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
            await Database.LedgerState.MarkResetAsync();
        }

        Assert.True(await Database.ScalarAsync<bool>("SELECT began_at > now() - interval '1 hour' FROM ledger"));
        // Forty days later the ledger has lost some of its own.
        await BeganAsync(Old.AddHours(1));
        await SettleAsync(epoch, 2, Old.AddHours(2));
        Assert.Equal(2, await RemoveAllAsync(page: 500));
        var again = Batches.ToStore(charged.Ids, epoch, DateTime.UtcNow);
        await Database.Payments.StoreAsync(again);
        Assert.Equal(Many, await Database.Ledger.RecordAsync(Batches.ToRecord(again, requestedAt: Old)));

        Assert.Equal(Many + 2, (await Database.SummariseAsync(null, null)).Default.TotalRequests);
    }

    // It was in doubt, or parked, for longer than the retention, so it never left.
    [PostgresFact]
    public async Task What_was_settled_later_than_others_of_its_time_left_is_counted()
    {
        var epoch = await Database.OpenEpochAsync();
        var late = await Database.StoreAsync(epoch, 1, Old);
        await SettleAsync(epoch, 2, Old.AddHours(2));
        Assert.Equal(2, await RemoveAllAsync(page: 500));

        await Database.Ledger.RecordAsync(Batches.ToRecord(late, requestedAt: Old.AddSeconds(1)));

        Assert.Equal(3, (await Database.SummariseAsync(null, null)).Default.TotalRequests);
    }

    // Recorded a moment ago, and charged before everything that stays: the feed keeps what was recorded before it.
    [PostgresFact]
    public async Task A_settlement_that_was_recorded_late_takes_no_other_one_out_of_the_feed()
    {
        var epoch = await Database.OpenEpochAsync();
        var kept = new List<Guid>();
        foreach (var days in new[] { 29, 15, 1 })
            kept.AddRange((await SettleAsync(epoch, 1, DateTime.UtcNow.AddDays(-days))).Ids);
        var reader = new FeedReader(Database, page: 1);
        await reader.PageAsync();
        await RecordedAtAsync("now()");
        var late = await SettleAsync(epoch, 1, Old);

        await RemoveAllAsync(page: 500);

        Assert.Equal(
            kept.Concat(late.Ids).Select(id => $"settled {id}"), await new FeedReader(Database).ReadAsync(4));
        // A month later.
        await Database.ExecuteAsync("UPDATE settlements SET recorded_at = requested_at");
        Assert.Equal(1, await RemoveAllAsync(page: 500));
        Assert.Equal(kept.Order(), await IdsAsync("settlements"));
    }

    [PostgresFact]
    public async Task A_settlement_that_is_recorded_behind_the_last_deletion_is_deleted_in_its_time()
    {
        var epoch = await Database.OpenEpochAsync();
        await SettleAsync(epoch, 2, Old.AddHours(2));
        Assert.Equal(2, await RemoveAllAsync(page: 500));
        await SettleAsync(epoch, 3, Old);
        // One that stays is passed by.
        await Database.ParkAsync("correlation_id = (SELECT min(correlation_id::text)::uuid FROM settlements)");

        Assert.Equal(0, await RemoveAllAsync(page: 1));
        await AnHourLaterAsync();
        Assert.Equal(2, await RemoveAllAsync(page: 1));
        Assert.Single(await IdsAsync("settlements"));
        var kept = await KeptFromAsync();
        await SettleAsync(epoch, 1, Old.AddHours(3));
        Assert.Equal(1, await RemoveAllAsync(page: 1));
        Assert.Equal(kept, await KeptFromAsync());
    }

    [PostgresFact]
    public async Task What_came_again_and_is_corrected_is_in_the_sums_once()
    {
        var epoch = await Database.OpenEpochAsync();
        var left = await SettleAsync(epoch, 3, Old);
        Assert.Equal(3, await RemoveAllAsync(page: 500));
        var before = await Database.SummariseAsync(null, null);
        var again = Batches.ToStore(left.Ids, epoch, DateTime.UtcNow);
        await Database.Payments.StoreAsync(again);
        await using var store = (await ReconciliationStore.OpenAsync(
            TestSettings.Read(("ConnectionStrings:Ledger", Database.ConnectionString))))!;

        // A reconciliation finds that the processor has them.
        for (var at = 0; at < 3; at++)
            Assert.True(await store.RecordAsync(new RecordHeldArgs(
                again.Ids[at], again.AcceptedAts[at], "default", 1990, left.AcceptedAts[at], 1, epoch)));
        Assert.Equal(before, await Database.SummariseAsync(null, null));
        // The other one has it, and the first one no more; and one that none has.
        Assert.True(await store.CorrectAsync(new CorrectArgs(
            again.Ids[0], again.AcceptedAts[0], "default", 1990, left.AcceptedAts[0], "fallback", 1990, DateTime.UtcNow,
            1)));
        await Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {epoch}");
        Assert.True(await store.PutBackAsync(new PutBackArgs(
            again.Ids[1], again.AcceptedAts[1], epoch, "default", 1990, left.AcceptedAts[1], 1,
            ["default", "fallback"])));

        var after = await Database.SummariseAsync(null, null);
        Assert.Equal((1, 1), (after.Default.TotalRequests, after.Fallback.TotalRequests));
    }

    private Task RecordedAtAsync(string at) =>
        Database.ExecuteAsync($"ALTER TABLE settlements ALTER COLUMN recorded_at SET DEFAULT {at}");

    private Task AnHourLaterAsync() =>
        Database.ExecuteAsync("UPDATE ledger SET kept_from = kept_from - interval '1 hour'");

    private Task BeganAsync(DateTime at) => Database.ExecuteAsync($"UPDATE ledger SET began_at = '{at:O}'");

    private static DateTime Hour(DateTime utc) => utc.AddTicks(-(utc.Ticks % TimeSpan.TicksPerHour));

    private async Task<DateTime> KeptFromAsync() => (await Database.LedgerState.StateAsync()).KeptFrom;

    private Task<int> RemoveAsync(int page = 500, DateTime? now = null) =>
        new RetentionStore(Database.Shared).RemoveAsync(now ?? DateTime.UtcNow, Month, page);

    private async Task<int> RemoveAllAsync(int page)
    {
        var total = 0;
        while (await RemoveAsync(page) is var removed and > 0)
            total += removed;
        return total;
    }

    // Each charged as soon as it was accepted.
    private async Task<StoreArgs> SettleAsync(int epoch, int count, DateTime acceptedAt)
    {
        var batch = await Database.StoreAsync(epoch, count, acceptedAt);
        var outcomes = Batches.ToRecord(batch);
        batch.AcceptedAts.CopyTo(outcomes.RequestedAts, 0);
        Assert.Equal(count, await Database.Ledger.RecordAsync(outcomes));
        return batch;
    }

    private async Task AssertRefusedAsync(DateTime? from, DateTime? to, string bound, string nearest)
    {
        var refused = await Assert.ThrowsAsync<NotKeptException>(() => Database.SummariseAsync(from, to));

        Assert.Equal(bound, refused.Bound);
        Assert.StartsWith(bound, refused.Message, StringComparison.Ordinal);
        Assert.Contains(nearest, refused.Message, StringComparison.Ordinal);
    }

    private async Task<Guid[]> IdsAsync(string table) => await Database.ScalarAsync<Guid[]>(
        $"SELECT coalesce(array_agg(correlation_id ORDER BY correlation_id), '{{}}') FROM {table}");
}

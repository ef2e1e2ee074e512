using Npgsql;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Storage;

/// <summary>Old settled payments leave, nothing else does, and no sum changes or is silently wrong.</summary>
public sealed class RetentionStoreTests : IAsyncLifetime
{
    private const int Many = 40;

    private static readonly TimeSpan Month = TimeSpan.FromDays(30);
    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

    // A whole hour, so that the tests know its buckets.
    private static readonly DateTime Old = Hour(DateTime.UtcNow.AddDays(-40));

    private readonly TestDatabase _database = new();

    private RetentionStore Retention => new(_database.Shared);

    public Task InitializeAsync() => _database.InitializeAsync();

    public Task DisposeAsync() => _database.DisposeAsync();

    [PostgresFact]
    public async Task Old_settled_payments_leave_and_unsettled_parked_and_young_ones_stay()
    {
        var epoch = await _database.OpenEpochAsync();
        await SettleAsync(epoch, Many, Old);
        var unsettled = await StoreAsync(epoch, 2, Old);
        var parked = await SettleAsync(epoch, 1, Old);
        await _database.ExecuteAsync(
            $"UPDATE payments SET owner_epoch = -1 WHERE correlation_id = '{parked.Ids[0]}'");
        // Accepted long ago, and charged only now.
        var late = await StoreAsync(epoch, 1, Old);
        await _database.Ledger.RecordAsync(Batches.ToRecord(late, requestedAt: DateTime.UtcNow));
        var young = await SettleAsync(epoch, 3, DateTime.UtcNow.AddDays(-29));
        var before = await _database.SummariseAsync(null, null);

        Assert.Equal(Many, await RemoveAllAsync(page: 7));

        Guid[] kept = [.. unsettled.Ids, .. parked.Ids, .. late.Ids, .. young.Ids];
        Assert.Equal(kept.Order(), await IdsAsync("payments"));
        Assert.Equal(parked.Ids.Concat(late.Ids).Concat(young.Ids).Order(), await IdsAsync("settlements"));
        Assert.Equal(before, await _database.SummariseAsync(null, null));
        Assert.Equal(0, await RemoveAllAsync(page: 7));
    }

    [PostgresTheory]
    [InlineData(0, 60)]
    [InlineData(-20, 0)]
    public async Task A_clock_that_jumps_removes_nothing_alone(int mineDays, int retentionDays)
    {
        // The database's clock is right, and this instance's is ahead; or the other way round.
        var now = DateTime.UtcNow.AddDays(mineDays == 0 ? 3_650 : mineDays);
        await SettleAsync(await _database.OpenEpochAsync(), Many, Old);

        var kept = await Retention.AdvanceAsync(new KeptArgs(now, TimeSpan.FromDays(Math.Max(retentionDays, 30))));

        Assert.InRange(kept!.KeptFrom, DateTime.MinValue, Old);
        Assert.Equal(0, await Retention.RemoveAsync(500));
    }

    [PostgresFact]
    public async Task Whole_buckets_keep_their_sums_and_a_window_that_cuts_one_is_refused()
    {
        await SettleAsync(await _database.OpenEpochAsync(), Many, Old.AddSeconds(7));
        var (from, to) = (Old.AddSeconds(5), Old.AddSeconds(10) - Microsecond);
        var before = await _database.SummariseAsync(from, to);
        Assert.Equal(before, await _database.SummariseAsync(Old.AddSeconds(7), to));

        await RemoveAllAsync(page: 500);

        Assert.Equal(Many, before.Default.TotalRequests);
        Assert.Equal(before, await _database.SummariseAsync(from, to));
        Assert.Equal(before, await _database.SummariseAsync(null, to));
        Assert.Equal(before, await _database.SummariseAsync(from, DateTime.UtcNow));
        Assert.Equal(before, await _database.SummariseAsync(Old, Old.AddHours(1) - Microsecond));
        await AssertRefusedAsync(from + Microsecond, to, "from", $"{from:yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await AssertRefusedAsync(from + Microsecond, null, "from", $"{from:yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await AssertRefusedAsync(from, to - Microsecond, "to", $"{to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
        await AssertRefusedAsync(null, from, "to", $"{to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
        // What is kept is summed up to the microsecond.
        var recent = await _database.SummariseAsync(Hour(DateTime.UtcNow) + Microsecond, null);
        Assert.Equal(0, recent.Default.TotalRequests);
    }

    [PostgresFact]
    public async Task What_left_is_not_recorded_again_and_what_comes_again_is_counted_once()
    {
        var epoch = await _database.OpenEpochAsync();
        var outcomes = Batches.ToRecord(await SettleAsync(epoch, Many, Old), requestedAt: Old);
        await RemoveAllAsync(page: 500);
        var before = await _database.SummariseAsync(null, null);

        // An owner that does not know that its statement went through repeats it.
        Assert.Equal(0, await _database.Ledger.RecordAsync(outcomes));
        // A client repeats its payment; the processor says 422, and when it had charged it.
        var again = Batches.ToStore(outcomes.Ids, epoch, DateTime.UtcNow);
        Assert.Equal(Many, await _database.Payments.StoreAsync(again));
        Assert.Equal(Many, await _database.Ledger.RecordAsync(Batches.ToRecord(again, requestedAt: Old)));

        Assert.Equal(before, await _database.SummariseAsync(null, null));
        Assert.Equal(before, await _database.SummariseAsync(Old, Old.AddHours(1) - Microsecond));
        // One that was charged anew is a charge more.
        var anew = await SettleAsync(epoch, 1, DateTime.UtcNow);
        Assert.Equal(Many + anew.Ids.Length, (await _database.SummariseAsync(null, null)).Default.TotalRequests);
    }

    [PostgresFact]
    public async Task A_payment_that_is_put_back_at_that_moment_stays()
    {
        var batch = await SettleAsync(await _database.OpenEpochAsync(), Many, Old);
        await Retention.AdvanceAsync(new KeptArgs(DateTime.UtcNow, Month));
        await using var other = await _database.Source.OpenConnectionAsync();
        await using var puttingBack = await other.BeginTransactionAsync();
        await using (var command = new NpgsqlCommand(
            $"UPDATE payments SET handover = 2 WHERE correlation_id = '{batch.Ids[3]}'; "
            + $"DELETE FROM settlements WHERE correlation_id = '{batch.Ids[3]}'", other))
            await command.ExecuteNonQueryAsync();

        var removing = Retention.RemoveAsync(500);
        await Eventually.HoldsAsync(
            async () => removing.IsCompleted || await _database.ScalarAsync<long>(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%removed_until%'")
                > 0,
            "the removal waits for the payment, or has waited long enough");
        await puttingBack.CommitAsync();

        try
        {
            Assert.Equal(Many - 1, await removing);
        }
        catch (PostgresException busy) when (busy.SqlState == PostgresErrorCodes.LockNotAvailable)
        {
            Assert.Equal(Many - 1, await Retention.RemoveAsync(500));
        }

        Assert.Equal(batch.Ids[3], Assert.Single(await IdsAsync("payments")));
    }

    // A clock that was ahead for a while leaves this behind.
    [PostgresFact]
    public async Task With_a_border_in_the_future_nothing_younger_than_a_day_leaves()
    {
        await SettleAsync(await _database.OpenEpochAsync(), Many, DateTime.UtcNow.AddHours(-23));
        await _database.ExecuteAsync("UPDATE ledger SET kept_from = now() + interval '2 days'");

        Assert.Equal(0, await Retention.RemoveAsync(500));
        Assert.Equal(Many, (await IdsAsync("payments")).Length);
    }

    [PostgresFact]
    public async Task One_instance_at_a_time_removes_and_the_others_do_not_wait()
    {
        await SettleAsync(await _database.OpenEpochAsync(), Many, Old);
        await Retention.AdvanceAsync(new KeptArgs(DateTime.UtcNow, Month));
        await using (var other = await _database.Source.OpenConnectionAsync())
        await using (await other.BeginTransactionAsync())
        {
            await using var command = new NpgsqlCommand("SELECT FROM ledger FOR UPDATE", other);
            await command.ExecuteNonQueryAsync();

            Assert.Equal(0, await Retention.RemoveAsync(500));
        }

        Assert.Equal(Many, await Retention.RemoveAsync(500));
    }

    // Sorted ids, so neither deadlocks with the other; and a batch waits for one page at most.
    [PostgresFact]
    public async Task Ids_that_leave_may_be_accepted_at_the_same_moment()
    {
        var epoch = await _database.OpenEpochAsync();
        await SettleAsync(epoch, 50 * Many, Old);
        await Retention.AdvanceAsync(new KeptArgs(DateTime.UtcNow, Month));
        var ids = await IdsAsync("payments");
        var removing = Task.Run(async () =>
        {
            var removed = 0;
            while (await Retention.RemoveAsync(Many) is var page and > 0)
                removed += page;
            return removed;
        });

        var accepted = 0;
        while (accepted < ids.Length)
            accepted += await _database.Payments.StoreAsync(Batches.ToStore(ids, epoch, DateTime.UtcNow));

        Assert.Equal(ids.Length, accepted);
        Assert.Equal(ids.Length, await removing);
        Assert.Equal(ids, await IdsAsync("payments"));
        Assert.Empty(await IdsAsync("settlements"));
    }

    [PostgresFact]
    public async Task A_purge_begins_a_ledger_of_which_nothing_has_left()
    {
        var epoch = await _database.OpenEpochAsync();
        await SettleAsync(epoch, Many, Old);
        await RemoveAllAsync(page: 500);
        Assert.Equal(
            Hour(DateTime.UtcNow - Month), (await _database.LedgerState.StateAsync()).KeptFrom,
            TimeSpan.FromHours(1));

        await _database.LedgerState.PurgeAsync();

        Assert.Equal(default, (await _database.LedgerState.StateAsync()).KeptFrom);
        await SettleAsync(epoch, 2, Old);
        Assert.Equal(2, (await _database.SummariseAsync(Old - Microsecond, null)).Default.TotalRequests);
        Assert.Equal(2, await RemoveAllAsync(page: 500));
    }

    private static DateTime Hour(DateTime utc) => utc.AddTicks(-(utc.Ticks % TimeSpan.TicksPerHour));

    private async Task<int> RemoveAllAsync(int page)
    {
        await Retention.AdvanceAsync(new KeptArgs(DateTime.UtcNow, Month));
        var total = 0;
        while (await Retention.RemoveAsync(page) is var removed and > 0)
            total += removed;
        return total;
    }

    private async Task<StoreArgs> StoreAsync(int epoch, int count, DateTime acceptedAt)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), epoch, acceptedAt);
        Assert.Equal(count, await _database.Payments.StoreAsync(batch));
        return batch;
    }

    // Each charged as soon as it was accepted.
    private async Task<StoreArgs> SettleAsync(int epoch, int count, DateTime acceptedAt)
    {
        var batch = await StoreAsync(epoch, count, acceptedAt);
        var outcomes = Batches.ToRecord(batch);
        batch.AcceptedAts.CopyTo(outcomes.RequestedAts, 0);
        Assert.Equal(count, await _database.Ledger.RecordAsync(outcomes));
        return batch;
    }

    private async Task AssertRefusedAsync(DateTime? from, DateTime? to, string bound, string nearest)
    {
        var refused = await Assert.ThrowsAsync<NotKeptException>(() => _database.SummariseAsync(from, to));

        Assert.Equal(bound, refused.Bound);
        Assert.StartsWith(bound, refused.Message, StringComparison.Ordinal);
        Assert.Contains(nearest, refused.Message, StringComparison.Ordinal);
    }

    private async Task<Guid[]> IdsAsync(string table) => await _database.ScalarAsync<Guid[]>(
        $"SELECT coalesce(array_agg(correlation_id ORDER BY correlation_id), '{{}}') FROM {table}");
}

namespace PaymentGateway.Tests.Storage;

public sealed class LedgerStateStoreTests : OwnDatabase
{
    private static readonly ChallengeSummary Empty = new(new ProcessorTotals(0, 0.00m), new ProcessorTotals(0, 0.00m));

    private static readonly TimeSpan HangGuard = TimeSpan.FromMinutes(1);

    // Five, of 300 ms each.
    private static readonly TimeSpan AllTries = TimeSpan.FromSeconds(1.5);

    [PostgresFact]
    public async Task A_lost_ledger_is_counted_as_reset_by_one_of_many_instances_until_a_purge()
    {
        Assert.Equal(new LedgerState(1, 0, null, true), await Database.LedgerState.StateAsync());
        await Database.ExecuteAsync("TRUNCATE ledger_intact");
        Assert.False((await Database.LedgerState.StateAsync()).Intact);

        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Task.Run(Database.LedgerState.MarkResetAsync)));

        var reset = await Database.LedgerState.StateAsync();
        Assert.Equal((1, true), (reset.Resets, reset.Intact));
        Assert.NotNull(reset.ResetAt);
        await Database.PurgeAsync();
        Assert.Equal(new LedgerState(2, 1, null, true), await Database.LedgerState.StateAsync());
    }

    [PostgresFact]
    public async Task A_purge_past_its_deadline_empties_nothing()
    {
        await using var limited = new SharedConnections(
            LedgerSetup.DataSource(Database.ConnectionString), TimeSpan.FromMilliseconds(200), TimeProvider.System);
        await using var other = await Database.HoldAsync("LOCK TABLE payments IN ROW EXCLUSIVE MODE");

        var until = await Database.ScalarAsync<DateTime>("SELECT clock_timestamp() + interval '0.18 seconds'");
        await Assert.ThrowsAsync<TimeoutException>(() => new LedgerStateStore(limited).PurgeAsync(until));
        await other.ExecuteAsync(
            "INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch) "
            + "VALUES (gen_random_uuid(), 1990, now(), 1)");
        await other.ExecuteAsync("COMMIT");

        await Eventually.HoldsAsync(
            async () => await Database.ScalarAsync<long>("""
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                  AND (state <> 'idle' OR wait_event_type = 'Lock')
                """) == 0,
            "the purge has had its locks and is over");
        Assert.Equal(1, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
        Assert.Equal(1, (await Database.LedgerState.StateAsync()).Generation);
    }

    [PostgresFact]
    public async Task A_purge_whose_caller_has_gone_deletes_nothing()
    {
        var epoch = await Database.OpenEpochAsync();
        await Database.StoreAsync(epoch, 3);

        await Assert.ThrowsAsync<OperationCanceledException>(
            () => Database.PurgeAsync(new CancellationToken(canceled: true)));

        Assert.Equal(3, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
    }

    [PostgresFact]
    public async Task A_purge_that_waits_for_its_locks_lets_others_pass_and_gives_up_before_its_caller()
    {
        var epoch = await Database.OpenEpochAsync();
        await using var other = await Database.HoldAsync("LOCK TABLE payments IN ROW EXCLUSIVE MODE");

        var purge = GivesUpAsync();
        await Eventually.HoldsAsync(
            async () =>
            {
                // It was over before it was seen to wait.
                if (purge.IsCompleted)
                {
                    await purge;
                    purge = GivesUpAsync();
                }

                return await Database.ScalarAsync<long>("""
                    SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted
                      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """) > 0;
            },
            "the purge waits");
        await Database.StoreAsync(epoch, 3);

        await purge;
        Assert.Equal(3, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
        Assert.Equal(1, (await Database.LedgerState.StateAsync()).Generation);
    }

    [PostgresFact]
    public async Task A_purge_beside_all_other_statements_breaks_none_and_empties_everything()
    {
        var epoch = await Database.OpenEpochAsync();
        var failures = new ConcurrentBag<Exception>();
        var limit = Stopwatch.StartNew();
        var (purges, recorded, adopted) = (0, 0L, 0);
        var payments = new PaymentQueryStore(Database.Shared);
        var retention = new RetentionStore(Database.Shared);

        await Task.WhenAll(
            RepeatAsync(() => StoreAndRecordAsync(1)), RepeatAsync(() => StoreAndRecordAsync(2)),
            RepeatAsync(() => StoreAndRecordAsync(3)),
            RepeatAsync(async () =>
            {
                var summary = await Database.SummariseAsync(null, null);
                // One snapshot: whatever was purged, the sum is of whole payments of 19.90.
                Assert.Equal(summary.Default.TotalRequests * 19.90m, summary.Default.TotalAmount);
            }),
            RepeatAsync(async () =>
            {
                await payments.AllAsync(PaymentPageArgs.Before(PaymentCursor.End, Batches.Noon, 100));
                await retention.RemoveAsync(DateTime.UtcNow, TimeSpan.Zero, 10);
            }),
            RepeatAsync(async () =>
            {
                var adopter = await Database.OpenEpochAsync();
                adopted += (await Database.Adoptions.AdoptAsync(new AdoptArgs(epoch, adopter, Batches.Noon, 10))).Count;
            }),
            RepeatAsync(async () =>
            {
                var waited = Stopwatch.StartNew();
                try
                {
                    await Database.PurgeAsync();
                    Interlocked.Increment(ref purges);
                }
                catch (PostgresException busy) when (waited.Elapsed >= AllTries && busy.SqlState
                    is PostgresErrorCodes.LockNotAvailable or PostgresErrorCodes.QueryCanceled)
                {
                    // Some server process had no processor for so long, and its locks: a purge is to be repeated then.
                }
            }));

        await Database.PurgeAsync();
        Assert.Equal(Empty, await Database.SummariseAsync(null, null));
        Assert.Empty(failures);
        Assert.True(HasEnough(), $"{purges} purges, {recorded} recorded, {adopted} adopted");

        bool HasEnough() => purges > 10 && Interlocked.Read(ref recorded) > 100 && adopted > 0;

        async Task StoreAndRecordAsync(int instance)
        {
            var batch = await Database.StoreAsync(epoch, 50);
            Interlocked.Add(
                ref recorded, await Database.Ledger.RecordAsync(Batches.ToRecord(batch, epoch: instance)));
            await Database.Payments.FindAsync(batch.Ids);
        }

        Task RepeatAsync(Func<Task> statement) => Task.Run(async () =>
        {
            while (limit.Elapsed < TimeSpan.FromSeconds(3) || !HasEnough() && limit.Elapsed < HangGuard)
            {
                try
                {
                    await statement();
                }
                catch (Exception failed)
                {
                    failures.Add(failed);
                }
            }
        });
    }

    private async Task GivesUpAsync()
    {
        var lost = await Assert.ThrowsAsync<PostgresException>(() => Database.PurgeAsync());
        Assert.Equal(PostgresErrorCodes.LockNotAvailable, lost.SqlState);
    }
}

namespace PaymentGateway.Tests.Storage;

/// <summary>How much of a growing ledger prepared statements read by the plans that they keep.</summary>
public sealed class KeptPlanTests : OwnDatabase
{
    private const int Many = 5_000;
    private const int Page = 50;

    // Npgsql prepares at the second use, and PostgreSQL plans five for their values before it may keep a plan.
    private const int Calls = 12;
    private const int Plans = 7;

    // One statement at a time in a database of its own, on one connection for batches and one for the rest, and their
    // plans with them.
    [PostgresFact]
    public async Task Neither_recording_nor_the_search_for_unsettled_payments_reads_the_settled_ones()
    {
        var (living, dead) = (await Database.OpenEpochAsync(), await Database.OpenEpochAsync());
        var later = Batches.Noon.AddHours(1);
        Task PageAsync() =>
            Database.Payments.UnsettledPageAsync(new UnsettledPageArgs(living, later, later.AddHours(1), 100));
        Task AdoptAsync() => Database.Adoptions.AdoptAsync(new AdoptArgs(0, living, Batches.Noon, 100));
        async Task EndAsync()
        {
            await Database.ExecuteAsync(
                $"UPDATE leases SET closed_at = now() - interval '1 hour', adopted_at = NULL WHERE epoch = {dead}");
            await Database.Adoptions.MarkAdoptedAsync(dead, Batches.Noon);
        }

        // Analysed as by autovacuum, first while the tables are small: the plans are kept until the next time.
        var few = await SettleAsync(living, 5, Batches.Noon);
        Task RecordAsync() => Database.Ledger.RecordAsync(few);
        Func<Task>[] statements = [PageAsync, EndAsync, AdoptAsync, RecordAsync];
        await SettleAsync(living, 45, Batches.Noon.AddSeconds(1));
        await Database.ExecuteAsync("ANALYZE payments, settlements");
        await CountReadAsync(statements);
        await SettleAsync(living, Many, Batches.Noon.AddMinutes(1));
        var before = await CountReadAsync(statements);
        await Database.ExecuteAsync("ANALYZE payments, settlements");
        var after = await CountReadAsync(statements);

        Assert.All([.. before, .. after], rows => Assert.InRange(rows, 0, Many / 10));
    }

    // Once the table is larger than the cache that the planner hopes for, reading a whole backlog and sorting it looks
    // cheaper to it than a page by the index: seen at 1.2 million payments, and each page took more than its time.
    [PostgresFact]
    public async Task A_page_of_a_backlog_reads_only_the_rows_of_that_page()
    {
        await Database.ReopenAsync("effective_cache_size=80kB");
        await Database.ReopenBatchesAsync("Options=-c effective_cache_size=80kB");
        Assert.Equal("80kB", await Database.ScalarAsync<string>("SHOW effective_cache_size"));
        var (living, dead) = (await Database.OpenEpochAsync(), await Database.OpenEpochAsync());
        await SettleAsync(living, Many, Batches.Noon.AddHours(-1));
        // In turn, as instances do: that an owner's rows lie apart makes the index look expensive, too.
        for (var batch = 0; batch < Many / Page; batch++)
            foreach (var owner in (int[])[living, dead])
                await Database.StoreAsync(owner, Page, Batches.Noon.AddSeconds(batch));
        await Database.Leases.CloseAsync(dead);
        await Database.ExecuteAsync("ANALYZE payments, settlements");
        await using var older = await SeeEverythingAsync();
        Task PageAsync() => Database.Payments.UnsettledPageAsync(
            new UnsettledPageArgs(living, Batches.Noon, Batches.Noon.AddHours(1), Page));
        Task AdoptAsync() => Database.Adoptions.AdoptAsync(new AdoptArgs(dead, living, Batches.Noon, Page));

        var read = await CountReadAsync([PageAsync, AdoptAsync]);

        // An adoption finds each of its rows again by the key, and passes those that the calls before it have moved, as
        // long as something older still sees them (here that transaction): 0 + 1 + … + 11 pages. For each plan
        // PostgreSQL 17 and newer read two rows more, the ends of the key.
        Assert.InRange(read[0], Calls * Page, Calls * Page * 2);
        Assert.InRange(read[1], Calls * Page, (Page * ((Calls * 2) + (Calls * (Calls - 1) / 2))) + (2 * Plans));
    }

    [PostgresFact]
    public async Task A_summary_of_everything_reads_a_row_for_hours_not_for_seconds()
    {
        var batch = await Database.StoreAsync(await Database.OpenEpochAsync(), Many);
        var outcomes = Batches.ToRecord(batch);
        for (var i = 0; i < Many; i++)
            outcomes.RequestedAts[i] = Batches.Noon.AddSeconds(5 * i);
        await Database.Ledger.RecordAsync(outcomes);
        await Database.ExecuteAsync("ANALYZE settlements, settlement_totals");

        var read = await CountReadAsync([() => new SummaryStore(Database.Shared).SumAsync(null, null)]);

        Assert.InRange(read[0], Calls, Many / 10);
    }

    // The oldest payment is unsettled, so the owner's low-water mark lies before all the settled ones.
    [PostgresFact]
    public async Task Looking_payments_up_and_listing_them_reads_few_rows_of_a_large_ledger()
    {
        var payments = new PaymentQueryStore(Database.Shared);
        var living = await Database.OpenEpochAsync();
        var stuck = await Database.StoreAsync(living, 1, Batches.Noon.AddHours(-1));
        await new DoubtStore(Database.Shared).MarkAsync(new DoubtArgs(stuck.AcceptedAts, stuck.Ids));
        Task FromAsync(PaymentCursor before, Func<PaymentPageArgs, Task> pageAsync) =>
            pageAsync(PaymentPageArgs.Before(before, Batches.Noon.AddDays(-1), Page));
        var middle = new PaymentCursor(Batches.Noon.AddMinutes(1).AddMicroseconds(Many / 2), Guid.Empty);
        Func<Task>[] statements =
        [
            () => payments.FindAsync(stuck.Ids[0]),
            () => FromAsync(PaymentCursor.End, payments.AllAsync),
            () => FromAsync(middle, payments.AllAsync),
            () => FromAsync(PaymentCursor.End, payments.SettledAsync),
            () => FromAsync(PaymentCursor.End, payments.OwnedAsync),
            () => FromAsync(PaymentCursor.End, payments.ParkedAsync),
            () => FromAsync(PaymentCursor.End, payments.InDoubtAsync),
        ];
        await SettleAsync(living, 50, Batches.Noon);
        await Database.ExecuteAsync("ANALYZE payments, settlements, doubts");
        await CountReadAsync(statements);
        await SettleAsync(living, Many, Batches.Noon.AddMinutes(1));
        var before = await CountReadAsync(statements);
        await Database.ExecuteAsync("ANALYZE payments, settlements, doubts");
        var after = await CountReadAsync(statements);

        Assert.All([.. before, .. after], rows => Assert.InRange(rows, 0, Calls * Page * 6));
    }

    // Between two analyses a backlog looks like one row to the planner, and sorting one row looks cheaper than the
    // index.
    [PostgresFact]
    public async Task Listing_a_backlog_that_came_since_the_last_analysis_reads_a_page_of_it()
    {
        var payments = new PaymentQueryStore(Database.Shared);
        var (living, since) = (await Database.OpenEpochAsync(), Batches.Noon.AddMinutes(1));
        await SettleAsync(living, Many, Batches.Noon.AddHours(-1));
        await Database.ExecuteAsync("ANALYZE payments, settlements, doubts");
        await Database.StoreAsync(living, Many, since);
        await Database.ExecuteAsync($"UPDATE leases SET low_water_mark = '{since:O}' WHERE epoch = {living}");
        Task FromEndAsync(Func<PaymentPageArgs, Task> pageAsync) =>
            pageAsync(PaymentPageArgs.Before(PaymentCursor.End, Batches.Noon.AddDays(-1), Page));

        var read = await CountReadAsync(
            [() => FromEndAsync(payments.OwnedAsync), () => FromEndAsync(payments.AllAsync)]);

        Assert.All(read, rows => Assert.InRange(rows, Calls * Page, Calls * Page * 6));
    }

    // What is old comes first by no key of payments, and its page is all that is read of either table.
    [PostgresFact]
    public async Task Removing_old_payments_reads_a_page_of_them_and_none_of_the_others()
    {
        var retention = new RetentionStore(Database.Shared);
        var epoch = await Database.OpenEpochAsync();
        Task<int> RemoveAsync() => retention.RemoveAsync(
            DateTime.UtcNow, TimeSpan.FromDays(30), Page);
        await SettleAsync(epoch, 50, DateTime.UtcNow, DateTime.UtcNow);
        await Database.ExecuteAsync("ANALYZE payments, settlements");
        await CountReadAsync([RemoveAsync]);
        await SettleAsync(epoch, Many, DateTime.UtcNow, DateTime.UtcNow);
        var idle = await CountReadAsync([RemoveAsync]);
        await Database.ExecuteAsync("ALTER TABLE settlements ALTER COLUMN recorded_at SET DEFAULT '-infinity'");
        await SettleAsync(epoch, Calls * Page, Batches.Noon, Batches.Noon);
        await using var older = await SeeEverythingAsync();
        var busy = await CountReadAsync([RemoveAsync]);

        Assert.Equal(0, await RemoveAsync());
        // A row for the page, and one for the planner, which looks at the end of the index.
        Assert.InRange(idle[0], 0, 2 * Calls);
        // A payment is read to be deleted, and its settlement twice. Earlier pages' settlements are passed by twice, as
        // long as something older sees them: 0 + 1 + … + 11 pages. A call begins at the last row of the one before, and
        // the planner looks at the end of the index.
        Assert.InRange(busy[0], 3 * Calls * Page, (Page * ((3 * Calls) + (Calls * (Calls - 1)))) + (3 * Calls));
    }

    // Recorded in batches, as instances do: a page passes at most the batch that it begins and the one that it ends in.
    [PostgresFact]
    public async Task A_page_of_events_reads_the_rows_of_that_page_of_a_large_feed()
    {
        var (epoch, feed, events) = (
            await Database.OpenEpochAsync(), new FeedReader(Database, Page), new EventStore(Database.Shared));
        await SettleAsync(epoch, Page, Batches.Noon);
        await Database.ExecuteAsync("ANALYZE payments, settlements, payment_events");
        EventCursor? middle = null;
        Task FromAsync(EventCursor? after) => events.PageAsync(after, Page);
        Func<Task>[] statements = [() => FromAsync(null), () => FromAsync(middle), () => FromAsync(feed.At)];
        await CountReadAsync(statements);
        for (var batch = 0; batch < Many / Page; batch++)
            await SettleAsync(epoch, Page, Batches.Noon.AddMinutes(1 + batch));
        Assert.Equal(Many + Page, (await feed.ReadAsync(Many + Page)).Count);
        // Read, because other tests use transactions of this server meanwhile.
        middle = feed.At! with
        {
            Transaction = await Database.ScalarAsync<long>(
                $"SELECT recorded_by::text::bigint FROM settlements ORDER BY recorded_by OFFSET {Many / 2} LIMIT 1"),
        };
        var before = await CountReadAsync(statements);
        await Database.ExecuteAsync("ANALYZE payments, settlements, payment_events");
        var after = await CountReadAsync(statements);

        Assert.All([.. before, .. after], rows => Assert.InRange(rows, 0, Calls * ((3 * Page) + 2)));
        Assert.InRange(after[1], Calls * Page, long.MaxValue);
    }

    // A transaction of another connection: what is deleted or moved from now on stays to be passed by until it ends.
    private Task<NpgsqlConnection> SeeEverythingAsync() => Database.HoldAsync(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM payments");

    private async Task<RecordArgs> SettleAsync(
        int owner, int count, DateTime acceptedAt, DateTime? requestedFrom = null)
    {
        var batch = await Database.StoreAsync(owner, count, acceptedAt);
        var outcomes = Batches.ToRecord(batch);
        for (var at = 0; requestedFrom is { } first && at < count; at++)
            outcomes.RequestedAts[at] = first.AddMilliseconds(at);
        Assert.Equal(count, await Database.Ledger.RecordAsync(outcomes));
        return outcomes;
    }

    private async Task<List<long>> CountReadAsync(Func<Task>[] calls)
    {
        var read = new List<long>();
        foreach (var callAsync in calls)
        {
            var before = await RowsReadAsync();
            for (var call = 0; call < Calls; call++)
                await callAsync();
            read.Add(await RowsReadAsync() - before);
        }

        return read;
    }

    // A backend hands over what it has counted when it is idle for a while; this makes it do so at once. Batches have a
    // backend of their own.
    private async Task<long> RowsReadAsync()
    {
        const string Flush = "SELECT pg_stat_force_next_flush()";
        await Database.ExecuteAsync(Flush);
        await Database.Connections.RunAsync(db => db.ExecuteAsync(Flush));
        return await Database.ScalarAsync<long>("""
            SELECT sum(tuples)::bigint FROM (
                SELECT schemaname, relname, seq_tup_read AS tuples FROM pg_stat_user_tables
                UNION ALL SELECT schemaname, relname, idx_tup_read FROM pg_stat_user_indexes) AS scans
            WHERE relname IN ('payments', 'settlements', 'settlement_totals') AND schemaname = current_schema()
            """);
    }
}

namespace PaymentGateway.Tests.Storage;

public sealed class PaymentStoreTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    private PaymentStore Store => database.Payments;

    [PostgresFact]
    public async Task An_acceptance_stays_as_it_was_stored_when_its_id_comes_again_with_another_amount_and_time()
    {
        var epoch = await database.OpenEpochAsync();
        var acceptedAt = Batches.Noon.AddTicks(1_234_567 * TimeSpan.TicksPerMicrosecond);
        var batch = Batches.ToStore(Batches.SortedIds(10), epoch, acceptedAt);
        Guid[] more = [.. batch.Ids.Append(Guid.NewGuid()).Order()];

        Assert.Equal(batch.AcceptedAts, (await Store.StoreAsync(batch)).Order());
        Assert.Empty(await Store.StoreAsync(batch));
        Assert.Single(await Store.StoreAsync(Batches.ToStore(more, epoch, Batches.Noon.AddHours(1), cents: 5)));

        var stored = (await Store.FindAsync(batch.Ids)).OrderBy(row => row.CorrelationId).ToList();
        Assert.Equal(
            batch.Ids.Select((id, at) => new StoredPayment(id, 1990, batch.AcceptedAts[at], epoch)), stored);
        Assert.All(stored, row => Assert.Equal(DateTimeKind.Utc, row.AcceptedAt.Kind));
    }

    // The error comes after the rows, when the transaction ends.
    [PostgresTheory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task A_batch_whose_commit_fails_is_not_told_as_stored(int count)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), await database.OpenEpochAsync());
        await database.ExecuteAsync("""
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not committed'; END $$;
            CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON payments DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION refuse()
            """);

        await Assert.ThrowsAsync<PostgresException>(() => Store.StoreAsync(batch));

        await database.ExecuteAsync("DROP FUNCTION refuse CASCADE");
        Assert.Empty(await Store.FindAsync(batch.Ids));
    }

    [PostgresTheory]
    [InlineData(1, true)]
    [InlineData(3, true)]
    [InlineData(1, false)]
    [InlineData(3, false)]
    public async Task A_closed_epoch_and_an_instance_without_one_store_nothing(int count, bool isClosed)
    {
        var epoch = isClosed ? await database.OpenEpochAsync() : 0;
        if (isClosed)
        {
            await database.StoreAsync(epoch, count);
            await database.Leases.CloseAsync(epoch);
        }

        var batch = Batches.ToStore(Batches.SortedIds(count), epoch);

        Assert.Empty(await Store.StoreAsync(batch));
        Assert.Empty(await Store.FindAsync(batch.Ids));
    }

    [PostgresFact]
    public async Task A_page_has_the_owners_unsettled_payments_in_the_range_oldest_first()
    {
        var (epoch, other) = (await database.OpenEpochAsync(), await database.OpenEpochAsync());
        var from = Batches.Noon.AddDays(1);
        var batch = await database.StoreAsync(epoch, 10, from);
        await database.StoreAsync(other, 5, from);
        var settled = Batches.ToStore(batch.Ids[4..5], epoch, batch.AcceptedAts[4]);
        await database.Ledger.RecordAsync(Batches.ToRecord(settled));

        var page = await Store.UnsettledPageAsync(
            new UnsettledPageArgs(epoch, batch.AcceptedAts[1], batch.AcceptedAts[8], 100));
        var start = await Store.UnsettledPageAsync(
            new UnsettledPageArgs(epoch, batch.AcceptedAts[1], batch.AcceptedAts[8], 2));

        Guid[] unsettled = [.. batch.Ids[1..4], .. batch.Ids[5..9]];
        Assert.Equal(unsettled, page.Select(row => row.CorrelationId));
        Assert.Equal(unsettled[..2], start.Select(row => row.CorrelationId));
    }

    [PostgresFact]
    public async Task Two_instances_that_store_the_same_sorted_ids_never_deadlock()
    {
        var epoch = await database.OpenEpochAsync();

        for (var round = 0; round < 150; round++)
        {
            var batch = Batches.ToStore(Batches.SortedIds(300), epoch);

            var added = await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => StoreElsewhereAsync(batch)));

            Assert.Equal(300, added.Sum());
        }
    }

    // What makes the test above able to fail: the order is all that keeps the instances apart.
    [PostgresFact]
    public async Task Two_instances_that_store_unsorted_ids_do_deadlock()
    {
        var epoch = await database.OpenEpochAsync();
        var limit = Stopwatch.StartNew();
        PostgresException? deadlock = null;

        while (deadlock is null && limit.Elapsed < TimeSpan.FromSeconds(20))
        {
            // Longer than a server of any kind takes to look for a deadlock.
            var batch = Batches.ToStore(Batches.SortedIds(500), epoch) with { LockTimeout = "3s" };
            var reversed = batch with { Ids = [.. Enumerable.Reverse(batch.Ids)] };
            try
            {
                await Task.WhenAll(StoreElsewhereAsync(batch), StoreElsewhereAsync(reversed));
            }
            catch (PostgresException lost)
            {
                deadlock = lost;
            }
        }

        Assert.Equal(PostgresErrorCodes.DeadlockDetected, deadlock?.SqlState);
    }

    private Task<int> StoreElsewhereAsync(StoreArgs batch) =>
        Task.Run(async () => (await Store.StoreAsync(batch)).Length);
}

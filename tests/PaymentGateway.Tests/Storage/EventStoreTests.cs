using PaymentGateway.Operator.Events;

namespace PaymentGateway.Tests.Storage;

/// <summary>The order of the feed: each event once, whenever its transaction commits.</summary>
public sealed class EventStoreTests : OwnDatabase
{
    private static readonly DateTime Month = DateTime.UtcNow.Date.AddDays(-40);

    private FeedReader _reader = null!;
    private int _owner;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _reader = new FeedReader(Database);
        _owner = await Database.OpenEpochAsync();
    }

    [PostgresTheory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(200)]
    public async Task Events_have_one_order_for_every_reader_and_page(int page)
    {
        var expected = new List<string>();
        Assert.Empty(await _reader.ReadAsync());
        for (var batch = 0; batch < 4; batch++)
        {
            var settled = (await Database.SettleAsync(_owner, 3)).Ids.Select(Settled).ToList();
            Assert.Equal(settled, await _reader.ReadAsync(3));
            expected.AddRange(settled);
        }

        Assert.Empty(await _reader.ReadAsync());
        Assert.Equal(expected, await new FeedReader(Database, page).ReadAsync(12));
    }

    // Its statement has begun before that of the quick one, and ends after it.
    [PostgresFact]
    public async Task A_settlement_that_commits_late_is_not_skipped_and_holds_the_later_ones_back()
    {
        var stalled = await Database.StoreAsync(_owner, 1);
        await using var other = await Database.HoldAsync($"""
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            VALUES ('{stalled.Ids[0]}', '{stalled.AcceptedAts[0]:O}', 1, 1990, now())
            """);
        var recording = Database.Ledger.RecordAsync(Batches.ToRecord(stalled));
        await Database.WaitsForLockAsync("the settlement waits for another one of its payment");
        var quick = (await Database.SettleAsync(_owner, 1)).Ids[0];

        Assert.Empty(await _reader.ReadAsync());
        await other.ExecuteAsync("ROLLBACK");
        await recording;

        Assert.Equal([Settled(stalled.Ids[0]), Settled(quick)], await _reader.ReadAsync(2));
    }

    [PostgresFact]
    public async Task A_transaction_that_only_reads_holds_nothing_back_and_one_that_may_write_does()
    {
        await using var reading = await Database.HoldAsync("SELECT count(*) FROM settlements");
        var first = (await Database.SettleAsync(_owner, 1)).Ids[0];
        Assert.Equal([Settled(first)], await _reader.ReadAsync(1));

        await using var writing = await Database.HoldAsync("SELECT pg_current_xact_id()");
        var second = (await Database.SettleAsync(_owner, 1)).Ids[0];
        Assert.Empty(await _reader.ReadAsync());
        await writing.ExecuteAsync("COMMIT");

        Assert.Equal([Settled(second)], await _reader.ReadAsync(1));
    }

    [PostgresFact]
    public async Task A_payment_is_parked_replayed_and_settled_in_this_order()
    {
        var payment = await Database.StoreAsync(_owner, 1);
        var parked = new ParkedStore(Database.Shared, TestSettings.Read());
        await parked.ParkAsync(new ParkArgs(payment.Ids[0], payment.AcceptedAts[0], _owner, "because"));
        await parked.ParkAsync(new ParkArgs(payment.Ids[0], payment.AcceptedAts[0], _owner, "again"));
        Assert.True(await parked.ReplayAsync(payment.Ids[0]));
        Assert.False(await parked.ReplayAsync(payment.Ids[0]));
        await Database.ParkAsync("true");
        Assert.Single(await parked.ReplayPageAsync(PaymentCursor.Start, null, 10));
        await Database.Ledger.RecordAsync(Batches.ToRecord(payment));

        var rows = await _reader.ReadRowsAsync(4);

        Assert.Equal(["parked", "replayed", "replayed", "settled"], rows.Select(row => row.Kind));
        Assert.Equal(["because", null, null, null], rows.Select(row => row.Reason));
        Assert.Equal((1990, "default", Batches.Noon), (rows[3].AmountCents, rows[3].Processor, rows[3].RequestedAt));
    }

    // A correction leaves the settlement where it was; a settlement that is taken back is an event of the past.
    [PostgresFact]
    public async Task Corrections_follow_what_they_correct()
    {
        var batch = await Database.SettleAsync(_owner, 2);
        var first = await _reader.ReadRowsAsync(2);
        await Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {_owner}");
        await using var store = (await ReconciliationStore.OpenAsync(
            TestSettings.Read(("ConnectionStrings:Ledger", Database.ConnectionString))))!;
        Assert.True(await store.CorrectAsync(new CorrectArgs(
            batch.Ids[0], batch.AcceptedAts[0], "default", 1990, Batches.Noon, "fallback", 1991,
            Batches.Noon.AddSeconds(1), 1)));
        Assert.True(await store.PutBackAsync(new PutBackArgs(
            batch.Ids[1], batch.AcceptedAts[1], _owner, "default", 1990, Batches.Noon, 1, ["default", "fallback"])));
        Assert.True(await store.RecordAsync(new RecordHeldArgs(
            batch.Ids[1], batch.AcceptedAts[1], "fallback", 1990, Batches.Noon.AddSeconds(2), 1, _owner)));

        var rows = await _reader.ReadRowsAsync(3);

        (string?, Guid?, long?, string?)[] expected =
        [
            ("corrected", batch.Ids[0], 1991, "fallback"), ("corrected", batch.Ids[1], 1990, null),
            ("settled", batch.Ids[1], 1990, "fallback"),
        ];
        Assert.Equal(expected, rows.Select(row => (row.Kind, row.CorrelationId, row.AmountCents, row.Processor)));
        // A reader that comes later gets both as they were, with the ids of before.
        var all = await new FeedReader(Database).ReadRowsAsync(5);
        Assert.Equal(
            first.Concat(rows).Select(row => EventAnswer.Of(row)), all.Select(row => EventAnswer.Of(row)));
        Assert.Equal(5, all.Select(row => EventAnswer.Of(row).Id).Distinct().Count());
    }

    // The transaction that holds the feed back holds no age back.
    [PostgresFact]
    public async Task The_age_of_the_oldest_event_that_a_reader_has_not_got_grows_while_the_feed_is_stopped()
    {
        var events = new EventStore(Database.Shared);
        await Database.SettleAsync(_owner, 1);
        await _reader.ReadAsync(1);
        Assert.Equal(0, await events.AgeAsync(_reader.At));
        await using var other = await Database.HoldAsync("SELECT pg_current_xact_id()");
        await Database.SettleAsync(_owner, 1);
        await Database.ExecuteAsync("UPDATE settlements SET recorded_at = now() - interval '1 hour'");

        Assert.Empty(await _reader.ReadAsync());
        Assert.InRange(await events.AgeAsync(_reader.At), 3_600, 3_700);
        Assert.InRange(await events.AgeAsync(_reader.At! with { Generation = 0 }), 3_600, 3_700);
        Assert.InRange(await events.AgeAsync(null), 3_600, 3_700);
    }

    [PostgresFact]
    public async Task A_purge_and_a_crash_refuse_the_positions_of_before()
    {
        await Database.SettleAsync(_owner, 3);
        await _reader.ReadAsync(3);
        await Database.PurgeAsync();
        Assert.Null(await _reader.PageAsync());

        var second = new FeedReader(Database);
        var id = (await Database.SettleAsync(_owner, 1)).Ids[0];
        Assert.Equal([Settled(id)], await second.ReadAsync(1));
        await Database.ExecuteAsync("DELETE FROM ledger_intact");
        await Database.LedgerState.MarkResetAsync();

        Assert.Null(await second.PageAsync());
    }

    [PostgresFact]
    public async Task After_the_retention_an_old_position_is_refused_and_that_of_an_idle_reader_is_not()
    {
        var old = await Database.StoreAsync(_owner, 3, Month);
        var parked = new ParkedStore(Database.Shared, TestSettings.Read());
        await parked.ParkAsync(new ParkArgs(old.Ids[0], old.AcceptedAts[0], _owner, "because"));
        await parked.ReplayAsync(old.Ids[0]);
        await Database.Ledger.RecordAsync(Batches.ToRecord(old, requestedAt: Month));
        var slow = new FeedReader(Database, page: 4);
        Assert.Equal(5, (await _reader.ReadAsync(5)).Count);
        slow.At = (await slow.PageAsync())!.Next;
        await Database.ExecuteAsync($"""
            UPDATE settlements SET recorded_at = '{Month:O}';
            UPDATE payment_events SET occurred_at = '{Month:O}', recorded_at = '{Month:O}' WHERE kind = 'parked'
            """);

        Assert.Equal(3, await new RetentionStore(Database.Shared).RemoveAsync(
            DateTime.UtcNow, TimeSpan.FromDays(30), 10));

        Assert.Null(await slow.PageAsync());
        Assert.Empty(await _reader.ReadAsync());
        // It has one horizon: what stays from before it is no event, otherwise a page of it would have no next one.
        var small = new FeedReader(Database, page: 1);
        Assert.Empty(await small.ReadAsync());
        var batch = await Database.SettleAsync(_owner, 2);
        Assert.Equal(batch.Ids.Order().Select(Settled), await small.ReadAsync(2));
    }

    [Theory]
    [InlineData("1-0-17-4a7901b87d264d9daa194dc1c7cf60b3", true)]
    [InlineData("1-0-17-4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", false)]
    [InlineData("1-0-17", false)]
    [InlineData("1-0--17-4a7901b87d264d9daa194dc1c7cf60b3", false)]
    [InlineData("1-0-+17-4a7901b87d264d9daa194dc1c7cf60b3", false)]
    [InlineData("1-0-99999999999999999999-4a7901b87d264d9daa194dc1c7cf60b3", false)]
    public void A_position_is_read_as_it_was_written(string text, bool isOne) =>
        Assert.Equal(isOne ? text : "", $"{EventCursor.TryRead(text)}");

    private static string Settled(Guid id) => $"settled {id}";
}

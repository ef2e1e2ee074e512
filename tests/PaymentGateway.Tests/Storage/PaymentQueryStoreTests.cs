using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Storage;

/// <summary>Pages of payments, held against a plain read of all tables.</summary>
public sealed class PaymentQueryStoreTests : OwnDatabase
{
    private PaymentQueryStore Payments => new(Database.Shared);

    [PostgresTheory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(7)]
    [InlineData(50)]
    [InlineData(1_000)]
    public async Task Pages_of_any_length_hold_all_payments_once_in_their_order_with_their_states(int limit)
    {
        await FillAsync();
        var expected = await ExpectedAsync("true");

        Assert.Equal(400, expected.Count);
        Assert.Equal(expected, await FollowAsync(Payments.AllAsync, limit, Batches.Earliest));
        var from = Batches.Noon.AddMicroseconds(60);
        Assert.Equal(
            await ExpectedAsync($"accepted_at >= '{from:O}'"), await FollowAsync(Payments.AllAsync, limit, from));
    }

    [PostgresTheory]
    [InlineData(1)]
    [InlineData(9)]
    public async Task Pages_of_one_state_hold_all_that_are_in_it(int limit)
    {
        await FillAsync();
        var expected = await ExpectedAsync("true");
        async Task HoldsAsync(PaymentState state, Func<PaymentPageArgs, Task<List<PaymentRow>>> pageAsync)
        {
            var listed = await FollowAsync(pageAsync, limit, Batches.Earliest);
            Assert.Equal(
                expected.Where(one => one.State == state), listed.Where(one => one.State == state));
        }

        await HoldsAsync(PaymentState.Settled, Payments.SettledAsync);
        await HoldsAsync(PaymentState.InDoubt, Payments.InDoubtAsync);
        await HoldsAsync(PaymentState.Accepted, Payments.OwnedAsync);
        await HoldsAsync(PaymentState.Parked, Payments.ParkedAsync);
    }

    [PostgresFact]
    public async Task A_payment_is_found_in_the_state_that_the_list_says()
    {
        await FillAsync();

        foreach (var (id, state) in (await ExpectedAsync("true")).Take(40))
        {
            var row = await Payments.FindAsync(id);
            Assert.Equal((id, state), (row!.CorrelationId, PaymentAnswer.StateOf(row)));
        }

        Assert.Null(await Payments.FindAsync(Guid.NewGuid()));
    }

    [PostgresFact]
    public async Task The_amount_of_a_settled_payment_is_the_processors_wherever_it_is_shown()
    {
        var batch = await Database.StoreAsync(await Database.OpenEpochAsync(), 1);
        await Database.Ledger.RecordAsync(Batches.ToRecord(batch) with { AmountsCents = [2000], Attempts = [-1] });

        var shown = await Payments.FindAsync(batch.Ids[0]);
        var page = PaymentPageArgs.Before(PaymentCursor.End, Batches.Earliest, 10);
        var listed = Assert.Single(await Payments.AllAsync(page));

        Assert.Equal((2000, null), (shown!.AmountCents, shown.Attempts));
        Assert.Equal((2000, null), (listed.AmountCents, listed.Attempts));
    }

    // Owners of every kind, many payments at the same microsecond, every state. All that the adopted epoch had is
    // settled, and so is what lies before a low-water mark.
    private async Task FillAsync()
    {
        var (living, marked, dead, adopted) = (await Database.OpenEpochAsync(), await Database.OpenEpochAsync(),
            await Database.OpenEpochAsync(), await Database.OpenEpochAsync());
        await Database.ExecuteAsync($"""
            UPDATE leases SET closed_at = now() WHERE epoch IN ({dead}, {adopted});
            UPDATE leases SET adopted_at = now() WHERE epoch = {adopted};
            UPDATE leases SET low_water_mark = timestamptz '{Batches.Noon:O}' + interval '50 us'
            WHERE epoch = {marked};
            SELECT setseed(0.25);
            CREATE TEMPORARY TABLE filled AS
            SELECT gen_random_uuid() AS id, timestamptz '{Batches.Noon:O}' + n % 97 * interval '1 us' AS at,
                   (ARRAY[{living}, {marked}, {dead}, {adopted}, 0])[1 + n % 5] AS owner,
                   (ARRAY['settled', 'settled', 'parked', 'in doubt', 'accepted'])[1 + floor(random() * 5)] AS state
            FROM generate_series(1, 400) AS n;
            UPDATE filled SET state = 'settled' WHERE owner = {adopted}
               OR (owner = {marked} AND at < timestamptz '{Batches.Noon:O}' + interval '50 us');
            INSERT INTO payments (
                correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, parked_at, parked_reason)
            SELECT id, 1990, at, CASE state WHEN 'parked' THEN -1 ELSE owner END,
                   CASE WHEN state = 'parked' OR owner = 0 THEN 0 END,
                   CASE state WHEN 'parked' THEN at END, CASE state WHEN 'parked' THEN 'because' END FROM filled;
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT id, at, 1, 1990, at FROM filled WHERE state = 'settled';
            -- A settled one that was in doubt is settled, and one of another acceptance says nothing.
            INSERT INTO doubts (accepted_at, correlation_id)
            SELECT at, id FROM filled WHERE state = 'in doubt' OR (state = 'settled' AND random() < 0.3)
            UNION ALL SELECT at - interval '1 hour', id FROM filled WHERE random() < 0.2;
            CREATE TABLE expected AS SELECT * FROM filled;
            DROP TABLE filled
            """);
    }

    private async Task<List<(Guid Id, PaymentState State)>> ExpectedAsync(string where)
    {
        await using var connection = await Statements.OpenAsync(Database.ConnectionString);
        return await connection.ReadAsync(
            $"""
            SELECT id, state FROM (SELECT id, at AS accepted_at, state FROM expected) AS all_of_them
            WHERE {where} ORDER BY accepted_at DESC, id DESC
            """,
            row => (row.GetGuid(0), Enum.Parse<PaymentState>(row.GetString(1).Replace(" ", ""), ignoreCase: true)));
    }

    private static async Task<List<(Guid Id, PaymentState State)>> FollowAsync(
        Func<PaymentPageArgs, Task<List<PaymentRow>>> pageAsync, int limit, DateTime from)
    {
        var (all, before) = (new List<(Guid, PaymentState)>(), PaymentCursor.End);
        while (true)
        {
            var page = await pageAsync(PaymentPageArgs.Before(before, from, limit));
            all.AddRange(page.Select(row => (row.CorrelationId, PaymentAnswer.StateOf(row))));
            if (page.Count < limit)
                return all;

            before = page[^1].Cursor;
        }
    }
}

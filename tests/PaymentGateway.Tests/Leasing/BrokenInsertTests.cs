namespace PaymentGateway.Tests.Leasing;

/// <summary>What becomes of payments whose INSERT broke and came through all the same, however late.</summary>
public sealed class BrokenInsertTests : OwnDatabase
{
    private Stages _stages = null!;
    private int _epoch;
    private long _renewals;

    private AcceptanceClock Acceptances => _stages.Part<AcceptanceClock>();

    private StoredBacklog Backlog => _stages.Part<StoredBacklog>();

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _stages = Stages.Build(Database.ConnectionString, TimeProvider.System, urls: null);
        _epoch = await Database.OpenEpochAsync();
        _stages.HoldLease(_epoch);
        await _stages.StartAsync<BacklogSweep>();
    }

    public override async Task DisposeAsync()
    {
        await _stages.DisposeAsync();
        await base.DisposeAsync();
    }

    // Its bytes may wait in the socket of a server process that stalled, or that only begins to read.
    [PostgresTheory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task An_INSERT_that_begins_after_it_was_abandoned_stores_nothing_and_a_newer_one_does(int count)
    {
        var batch = Acceptances.Begin(count);
        Backlog.Add(batch, isUncertain: true);
        await TurnAsync();
        await Eventually.HoldsAsync(() => Backlog.Oldest() is null, "the one query is over");
        await TurnAsync(); // Nothing is uncertain any more, and it is refused for good.

        Assert.Empty(await StoreAsync(batch.From, count));
        Assert.Equal(count, (await StoreAsync(Acceptances.Begin(count).From, count)).Length);
        Assert.Equal(0, _stages.Queue.Count);
    }

    // Read sooner, its rows would be missed, and nobody would look for them again.
    [PostgresFact]
    public async Task What_a_broken_INSERT_can_still_store_is_read_when_it_has_ended()
    {
        var batch = Acceptances.Begin(1);
        await using var insert = await Database.HoldAsync($"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{Guid.NewGuid()}', 1990, '{batch.From:O}', {_epoch})
            """);
        Backlog.Add(batch, isUncertain: true);
        for (var turn = 0; turn < 3; turn++)
            await TurnAsync();
        Assert.Equal(batch.To, Backlog.UncertainUntil());

        await insert.ExecuteAsync("COMMIT");
        await TurnAsync();

        await Eventually.HoldsAsync(() => _stages.Queue.Count == 1, "it is read");
    }

    // What the whole question rests on: a statement takes its snapshot after its lock on the table.
    [PostgresTheory]
    [InlineData(1, false)]
    [InlineData(3, false)]
    [InlineData(1, true)]
    [InlineData(3, true)]
    public async Task An_INSERT_that_waits_for_its_table_sees_what_was_committed_meanwhile(int count, bool prepared)
    {
        for (var use = 0; prepared && use < 8; use++)
            await StoreAsync(Acceptances.Begin(count).From, count);
        var batch = Acceptances.Begin(count);
        await using var held = await Database.HoldAsync("LOCK TABLE payments IN SHARE MODE");
        var storing = StoreAsync(batch.From, count);
        await Eventually.HoldsAsync(
            async () => (await Database.Adoptions.WritersAsync()).Count == 1, "who waits for the lock is counted");

        await Database.Leases.CloseAsync(_epoch);
        await held.ExecuteAsync("COMMIT");

        Assert.Empty(await storing);
        Assert.Empty(await Database.Adoptions.WritersAsync());
    }

    private async Task TurnAsync()
    {
        var until = Backlog.UncertainUntil();
        var renewal = await Database.Leases.RenewAsync(
            Batches.Renewal(_epoch, ++_renewals) with { RefusedUntil = until ?? DateTime.UnixEpoch });
        Assert.True(renewal.Renewed);
        await _stages.Part<BrokenInserts>().CheckAsync(_epoch, until);
    }

    private async Task<Guid[]> StoreAsync(DateTime acceptedAt, int count)
    {
        var ids = Batches.SortedIds(count);
        var added = (await Database.Payments.StoreAsync(Batches.ToStore(ids, _epoch, acceptedAt))).Length;
        Assert.Equal(added, (await Database.Payments.FindAsync(ids)).Count);
        return added == 0 ? [] : ids;
    }
}

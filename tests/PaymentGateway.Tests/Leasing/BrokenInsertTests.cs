namespace PaymentGateway.Tests.Leasing;

/// <summary>What becomes of payments whose INSERT broke and came through all the same, however late.</summary>
public sealed class BrokenInsertTests : OwnDatabase
{
    private Stages _stages = null!;
    private int _epoch;

    private AcceptanceClock Acceptances => _stages.Epoch.Acceptances;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _stages = Stages.Build(Database.ConnectionString, TimeProvider.System, urls: null);
        _epoch = await Database.OpenEpochAsync();
        _stages.HoldLease(_epoch);
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
    public async Task An_INSERT_that_begins_after_the_close_of_its_epoch_stores_nothing(int count)
    {
        var batch = Acceptances.Begin(count);
        Assert.Equal(count, (await StoreAsync(Acceptances.Begin(count).From, count)).Length);

        await Database.Leases.CloseAsync(_epoch);

        Assert.Empty(await StoreAsync(batch.From, count));
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

    private async Task<Guid[]> StoreAsync(DateTime acceptedAt, int count)
    {
        var ids = Batches.SortedIds(count);
        var added = (await Database.Payments.StoreAsync(Batches.ToStore(ids, _epoch, acceptedAt))).Length;
        Assert.Equal(added, (await Database.Payments.FindAsync(ids)).Count);
        return added == 0 ? [] : ids;
    }
}

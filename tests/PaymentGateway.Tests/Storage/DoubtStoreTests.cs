namespace PaymentGateway.Tests.Storage;

public sealed class DoubtStoreTests : OwnDatabase
{
    private DoubtStore Doubts => new(Database.Shared);

    [PostgresFact]
    public async Task A_doubt_that_is_told_again_began_when_it_was_told_first()
    {
        var batch = await StoreAsync(3);
        await Doubts.MarkAsync(ToDoubts(batch));
        var began = await Database.ScalarAsync<DateTime>("SELECT max(in_doubt_at) FROM doubts");

        await Doubts.MarkAsync(ToDoubts(batch));

        Assert.Equal(3, await CountAsync());
        Assert.Equal(began, await Database.ScalarAsync<DateTime>("SELECT max(in_doubt_at) FROM doubts"));
    }

    [PostgresFact]
    public async Task Only_the_doubts_that_ended_are_cleared()
    {
        var (ended, others) = (await StoreAsync(2), await StoreAsync(3));
        await Doubts.MarkAsync(ToDoubts(ended));
        await Doubts.MarkAsync(ToDoubts(others));

        await Doubts.ClearAsync(ToDoubts(ended));
        await Doubts.ClearAsync(ToDoubts(others) with { Ids = Batches.SortedIds(3) });

        Assert.Equal(3, await CountAsync());
    }

    [PostgresFact]
    public async Task A_sweep_takes_what_is_settled_or_purged_and_leaves_the_rest()
    {
        var (settled, rest) = (await StoreAsync(2), await StoreAsync(3));
        var purged = Batches.ToStore(Batches.SortedIds(4), owner: 1);
        foreach (var batch in new[] { settled, rest, purged })
            await Doubts.MarkAsync(ToDoubts(batch));
        await Doubts.MarkAsync(new DoubtArgs([Batches.Noon.AddHours(-1)], [rest.Ids[0]]));
        await Database.Ledger.RecordAsync(Batches.ToRecord(settled));

        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Doubts.SweepAsync()));

        Assert.Equal(3, await CountAsync());
        Assert.Equal(
            rest.Ids.Length,
            await Database.ScalarAsync<long>(
                $"SELECT count(*) FROM doubts WHERE accepted_at >= '{Batches.Noon:O}'"));
    }

    private static DoubtArgs ToDoubts(StoreArgs batch) => new(batch.AcceptedAts, batch.Ids);

    private async Task<StoreArgs> StoreAsync(int count) =>
        await Database.StoreAsync(await Database.OpenEpochAsync(), count);

    private Task<long> CountAsync() => Database.ScalarAsync<long>("SELECT count(*) FROM doubts");
}

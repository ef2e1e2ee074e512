using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Storage;

/// <summary>PaymentStore.StoreAgainAsync: what an instance still holds after a crash emptied the tables.</summary>
public sealed class StoredAgainTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    [PostgresFact]
    public async Task A_live_epoch_stores_its_payments_in_memory_again()
    {
        var kept = Kept(await database.OpenEpochAsync());

        var rows = await database.Payments.StoreAgainAsync(kept);

        Assert.Equal(kept.Ids, rows.Select(row => row.CorrelationId).Order());
        Assert.All(rows, row => Assert.Equal(kept.OwnerEpoch, row.OwnerEpoch));
    }

    [PostgresFact]
    public async Task A_closed_epoch_stores_nothing_again()
    {
        var kept = Kept(await database.OpenEpochAsync());
        await database.Leases.CloseAsync(kept.OwnerEpoch);

        Assert.Empty(await database.Payments.StoreAgainAsync(kept));

        Assert.Empty(await database.Payments.FindAsync(kept.Ids));
    }

    private static StoreAgainArgs Kept(int epoch)
    {
        var batch = Batches.ToStore(Batches.SortedIds(10), epoch);
        return new StoreAgainArgs(
            batch.Ids, batch.AmountsCents, batch.AcceptedAts,
            Array.ConvertAll(batch.Ids, _ => PaymentStates.Unsent), epoch);
    }
}

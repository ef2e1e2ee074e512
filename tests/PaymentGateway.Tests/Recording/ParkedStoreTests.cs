using PaymentGateway.Recording;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Recording;

public sealed class ParkedStoreTests : IAsyncLifetime
{
    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    private readonly TestDatabase database = new();

    private ParkedStore Parked => new(database.Shared);

    public Task InitializeAsync() => database.InitializeAsync();

    public Task DisposeAsync() => database.DisposeAsync();

    [PostgresFact]
    public async Task A_parked_payment_is_listed_with_its_reason_and_adopted_by_nobody()
    {
        var (epoch, batch) = await StoreAsync();

        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch, "because"));

        var parked = Assert.Single(await Parked.ListAsync());
        Assert.Equal(new ParkedRow(batch.Ids[0], 1990, batch.AcceptedAts[0], "because"), parked);
        var heir = await database.OpenEpochAsync();
        var adopted = await database.Leases.AdoptAsync(new AdoptArgs(epoch, heir, Earliest, 100));
        Assert.Equal(batch.Ids[1], Assert.Single(adopted).CorrelationId);
        Assert.Empty(await database.Leases.AdoptAsync(new AdoptArgs(0, heir, Earliest, 100)));
    }

    [PostgresFact]
    public async Task A_payment_that_has_another_owner_or_acceptance_by_now_is_not_parked()
    {
        var (epoch, batch) = await StoreAsync();

        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch + 1, "late"));
        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[1], epoch, "late"));

        Assert.Empty(await Parked.ListAsync());
    }

    [PostgresFact]
    public async Task A_replayed_payment_is_anyones_and_in_doubt()
    {
        var (epoch, batch) = await StoreAsync();
        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch, "because"));

        Assert.True(await Parked.ReplayAsync(batch.Ids[0]));
        Assert.False(await Parked.ReplayAsync(batch.Ids[0]));
        Assert.False(await Parked.ReplayAsync(batch.Ids[1]));

        Assert.Empty(await Parked.ListAsync());
        var heir = await database.OpenEpochAsync();
        var adopted = Assert.Single(await database.Leases.AdoptAsync(new AdoptArgs(0, heir, Earliest, 100)));
        Assert.Equal((batch.Ids[0], (short)2), (adopted.CorrelationId, adopted.Handover));
    }

    private async Task<(int Epoch, StoreArgs Batch)> StoreAsync()
    {
        var epoch = await database.OpenEpochAsync();
        var batch = Batches.ToStore(Batches.SortedIds(2), epoch);
        await database.Payments.StoreAsync(batch);
        return (epoch, batch);
    }
}

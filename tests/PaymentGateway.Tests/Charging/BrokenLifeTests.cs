namespace PaymentGateway.Tests.Charging;

/// <summary>What becomes of a payment whose state this program has got wrong.</summary>
public sealed class BrokenLifeTests : OwnRig
{
    // By its second owner it would be a fault that walks from instance to instance.
    [PostgresFact]
    public async Task A_broken_payment_is_parked_its_epoch_ends_once_and_the_others_are_settled_by_the_next()
    {
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        var gateway = await Rig.StartGatewayAsync();
        var (epoch, unsettled) = (gateway.Epoch.Number, gateway.Epoch.Unsettled);
        var broken = await gateway.PayAsync();
        await Eventually.HoldsAsync(() => unsettled.Count == 1, "it waits");
        // As if a second stage had it, too, between two probes.
        var payment = unsettled.Snapshot().Single();
        await Eventually.HoldsAsync(() => payment.Phase == PaymentPhase.Waiting, "no charge is in flight");
        payment.Charge(Known.Default, DateTime.UtcNow);
        var others = new List<Guid>();
        for (var other = 0; other < 5; other++)
            others.Add(await gateway.PayAsync());

        await Eventually.HoldsAsync(
            () => Rig.Database.ScalarAsync<bool>(
                $"SELECT owner_epoch = -1 FROM payments WHERE correlation_id = '{broken}'"),
            "it is parked");
        await Rig.Default.SetFailureAsync(false);
        await Rig.LedgersReachAsync(byDefault: others.Count);

        Assert.Equal(epoch + 1, gateway.Epoch.Number);
        Assert.Contains(
            "a fault of this program", await Rig.Database.ScalarAsync<string>(
                $"SELECT parked_reason FROM payments WHERE correlation_id = '{broken}'"),
            StringComparison.Ordinal);
        Assert.Equal(0, await Rig.Database.ScalarAsync<long>(
            $"SELECT count(*) FROM settlements WHERE correlation_id = '{broken}'"));
    }
}

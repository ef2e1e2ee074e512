namespace PaymentGateway.Tests.Charging;

public sealed class DoubtResolverTests : OwnRig
{
    // The charge's own check would send nothing either, but four such exceptions open the circuit.
    [PostgresFact]
    public async Task Payments_whose_epoch_ends_before_their_look_ups_leave_the_circuit_closed()
    {
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        // The first look-up hangs, and the others wait for its permit.
        var gateway = await Rig.StartGatewayAsync("Settling:LookupConcurrency=1");
        var (clock, epoch) = (gateway.Part<TimeProvider>(), gateway.Epoch.Number);
        var payments = Enumerable.Range(0, 7)
            .Select(_ => new Payment(Guid.NewGuid(), 1990, DateTime.UtcNow, epoch)).ToList();
        foreach (var payment in payments)
        {
            payment.Adopt(Known.AtDefault, clock.GetTimestamp());
            payment.Doubt();
        }

        payments.ForEach(gateway.Epoch.Doubts.Add);
        await Rig.Default.HoldsAsync(1);

        var ended = gateway.Epoch;
        ended.End();
        await Rig.Default.ClearFaultsAsync();

        await Eventually.HoldsAsync(() => ended.Doubts.Count == 0, "they are given up");
        Assert.Equal(Circuit.Closed, gateway.Part<ProcessorLanes>().Of(Known.Default).Health.Circuit);
        Assert.Equal(0, (await Rig.Default.CallsAsync()).Posts);
    }
}

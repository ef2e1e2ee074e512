namespace PaymentGateway.Tests.Chaos;

/// <summary>Only what was done to a payment's own processor, owner or database explains that it is late.</summary>
public sealed class ChaosReasonsTests
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);
    private static readonly ChaosLate Late = new(
        Guid.NewGuid(), ChaosStep.Default, Noon, Noon.AddSeconds(2),
        new ChaosOwner("host/run/sockets/api1.sock@boot", ChangedHands: false));

    [Theory]
    [InlineData(ChaosKind.Slow, ChaosStep.Default, ChaosReason.Processor)]
    [InlineData(ChaosKind.Outage, ChaosStep.Both, ChaosReason.Processor)]
    [InlineData(ChaosKind.ProcessorMute, ChaosStep.Default, ChaosReason.Processor)]
    [InlineData(ChaosKind.Slow, ChaosStep.Fallback, ChaosReason.None)]
    [InlineData(ChaosKind.Pause, GatewaySystem.First, ChaosReason.Parts)]
    [InlineData(ChaosKind.Pause, GatewaySystem.Second, ChaosReason.None)]
    [InlineData(ChaosKind.DatabaseMute, GatewaySystem.First, ChaosReason.Parts)]
    [InlineData(ChaosKind.DatabaseMute, GatewaySystem.Second, ChaosReason.None)]
    [InlineData(ChaosKind.FrozenDatabase, "postgres", ChaosReason.Parts)]
    [InlineData(ChaosKind.KillBoth, ChaosStep.Both, ChaosReason.Parts)]
    [InlineData(ChaosKind.Reload, "nginx", ChaosReason.None)]
    public void A_fault_during_a_late_payment_is_its_reason(ChaosKind kind, string target, ChaosReason reason)
    {
        var done = new ChaosDone(kind, target, Noon.AddSeconds(-1), Noon.AddSeconds(1));

        Assert.Equal(reason, ChaosReasons.Of(Late, [done]));
    }

    [Fact]
    public void A_fault_long_before_or_after_a_late_payment_is_no_reason()
    {
        var before = new ChaosDone(ChaosKind.Pause, GatewaySystem.First, Noon.AddSeconds(-30), Noon.AddSeconds(-20));
        var after = new ChaosDone(ChaosKind.Pause, GatewaySystem.First, Noon.AddSeconds(3), DateTime.MaxValue);

        Assert.Equal(ChaosReason.None, ChaosReasons.Of(Late, [before, after]));
        Assert.Equal(ChaosReason.Parts, ChaosReasons.Of(Late, [after with { From = Noon }]));
    }

    [Fact]
    public void A_payment_that_was_adopted_or_purged_has_its_reason() => Assert.All(
        new ChaosOwner?[] { new("", ChangedHands: true), null },
        owner => Assert.Equal(ChaosReason.Parts, ChaosReasons.Of(Late with { Owner = owner }, [])));
}

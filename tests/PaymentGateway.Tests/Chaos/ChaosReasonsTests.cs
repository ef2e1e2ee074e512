namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosReasonsTests
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);
    private static readonly ChaosLate Late = new(
        Guid.NewGuid(), ChaosStep.Default, Noon, Noon.AddSeconds(2), TimeSpan.Zero,
        new ChaosOwner("host/run/sockets/api1.sock@boot", ChangedHands: false));

    [Theory]
    [InlineData(ChaosKind.Slow, ChaosStep.Default, ChaosReason.Processor)]
    [InlineData(ChaosKind.Outage, ChaosStep.Both, ChaosReason.Processor)]
    [InlineData(ChaosKind.ProcessorMute, ChaosStep.Default, ChaosReason.Processor)]
    [InlineData(ChaosKind.PauseInOutage, GatewaySystem.Second, ChaosReason.Processor)]
    [InlineData(ChaosKind.Outage, "default+fallback", ChaosReason.Processor)]
    [InlineData(ChaosKind.Slow, ChaosStep.Fallback, ChaosReason.None)]
    [InlineData(ChaosKind.Outage, "fallback+third", ChaosReason.None)]
    [InlineData(ChaosKind.Pause, GatewaySystem.First, ChaosReason.Parts)]
    [InlineData(ChaosKind.Pause, GatewaySystem.Second, ChaosReason.None)]
    [InlineData(ChaosKind.DatabaseMute, GatewaySystem.First, ChaosReason.Parts)]
    [InlineData(ChaosKind.DatabaseMute, GatewaySystem.Second, ChaosReason.None)]
    [InlineData(ChaosKind.FrozenDatabase, "postgres", ChaosReason.Parts)]
    [InlineData(ChaosKind.KillBoth, ChaosStep.Both, ChaosReason.Parts)]
    [InlineData(ChaosKind.Reload, "nginx", ChaosReason.None)]
    public void A_fault_during_a_late_payment_is_its_reason(ChaosKind kind, string target, ChaosReason reason) =>
        Assert.Equal(reason, ChaosReasons.Of(Late, [Fault(kind, target, -1, 1)]));

    [Theory]
    [InlineData(ChaosKind.Slow, ChaosStep.Default, -9, -3)]
    [InlineData(ChaosKind.Outage, ChaosStep.Default, -9, -1)]
    [InlineData(ChaosKind.Outage, ChaosStep.Default, 1, 5)]
    [InlineData(ChaosKind.Pause, GatewaySystem.First, -9, -5)]
    [InlineData(ChaosKind.Pause, GatewaySystem.First, 1, 5)]
    public void A_fault_that_was_over_before_the_charge_or_began_after_its_answer_is_no_reason(
        ChaosKind kind, string target, int from, int to) => Assert.Equal(
        ChaosReason.None, ChaosReasons.Of(Late, [Fault(kind, target, from, to)]));

    [Theory]
    [InlineData(14, ChaosReason.Processor)]
    [InlineData(15, ChaosReason.None)]
    public void A_payment_unsettled_for_longer_than_the_damage_of_its_fault_lasts_has_no_reason(
        int seenAfter, ChaosReason reason)
    {
        var fault = Fault(ChaosKind.StoredThenReset, ChaosStep.Default, -1, 1);

        Assert.Equal(reason, ChaosReasons.Of(Late with { SeenAt = Noon.AddSeconds(seenAfter) }, [fault]));
    }

    [Fact]
    public void A_second_fault_explains_only_what_the_first_one_has_delayed()
    {
        var first = Fault(ChaosKind.StoredThenReset, ChaosStep.Default, -1, 1);
        var second = Fault(ChaosKind.Outage, ChaosStep.Default, 3, 3) with { To = DateTime.MaxValue };
        var late = Late with { SeenAt = Noon.AddMinutes(1) };

        Assert.Equal(ChaosReason.Processor, ChaosReasons.Of(late, [second, first]));
        Assert.Equal(ChaosReason.None, ChaosReasons.Of(late, [second]));
        Assert.Equal(ChaosReason.None, ChaosReasons.Of(late, [second with { From = Noon.AddSeconds(15) }, first]));
    }

    [Fact]
    public void A_payment_that_was_adopted_or_purged_has_its_reason() => Assert.All(
        new ChaosOwner?[] { new("", ChangedHands: true), null },
        owner => Assert.Equal(ChaosReason.Parts, ChaosReasons.Of(Late with { Owner = owner }, [])));

    [Fact]
    public void A_stalled_machine_lets_a_fault_hit_a_charge_for_longer()
    {
        var fault = Fault(ChaosKind.Outage, ChaosStep.Default, 1, 5);

        Assert.Equal(ChaosReason.None, ChaosReasons.Of(Late, [fault]));
        Assert.Equal(
            ChaosReason.Processor, ChaosReasons.Of(Late with { Stall = TimeSpan.FromSeconds(1) }, [fault]));
    }

    // If each fault of the last seconds were a reason, no payment of a run would be judged at all.
    [Theory]
    [InlineData(ChaosStep.Default, 2, 40)]
    [InlineData(ChaosStep.Fallback, 2, 40)]
    [InlineData(ChaosStep.Default, 3, 20)]
    [InlineData("third", 3, 40)]
    public void In_every_schedule_there_are_seconds_in_which_no_fault_excuses_a_late_payment(
        string processor, int processors, int tenthsMin)
    {
        foreach (var seed in Enumerable.Range(1, 5))
            foreach (var durable in new[] { true, false })
            {
                var schedule = ChaosSchedule.Plan(seed, durable, TimeSpan.FromSeconds(280), processors: processors);
                var done = schedule.All.Select(step => new ChaosDone(
                    step.Kind, step.Target == ChaosStep.Loaded ? GatewaySystem.Second : step.Target, Noon + step.At,
                    Noon + step.At + step.Hold)).ToList();

                var judged = Enumerable.Range(0, 2_750).Select(tenth => Noon.AddSeconds(tenth / 10.0)).Count(at =>
                    ChaosReasons.Of(
                        Late with { Processor = processor, RequestedAt = at, SeenAt = at.AddSeconds(2) }, done)
                    == ChaosReason.None);
                Assert.True(judged > tenthsMin, $"seed {seed}, durable {durable}: {judged} tenths of a second");
            }
    }

    private static ChaosDone Fault(ChaosKind kind, string target, int from, int to) =>
        new(kind, target, Noon.AddSeconds(from), Noon.AddSeconds(to));
}

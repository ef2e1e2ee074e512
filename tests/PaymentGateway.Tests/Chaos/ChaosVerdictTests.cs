namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosVerdictTests
{
    private static readonly ChaosVerdict Nothing = new(TimeSpan.Zero, []);
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);
    private static readonly ChaosKill Adopted = new(
        GatewaySystem.First, Noon, Taken: 120, Left: 30, Noon.AddSeconds(4), Noon.AddSeconds(4),
        ChaosVerdict.AdoptionRenewalsMax);

    [Fact]
    public void An_adoption_in_time_passes_however_long_a_renewal_takes() => Assert.Empty(
        Nothing.Judge([(Adopted with { AdoptedAt = Noon.AddMinutes(1) }, true)], []).Problems);

    [Fact]
    public void A_late_or_missing_adoption_fails_the_run()
    {
        var late = Adopted with { Renewals = ChaosVerdict.AdoptionRenewalsMax + 1 };
        var never = Adopted with { AdoptedAt = null };

        Assert.Equal(2, Nothing.Judge([(late, true), (never, true)], []).Problems.Count);
    }

    [Fact]
    public void No_adoption_is_late_where_the_database_was_broken_or_nothing_was_left() => Assert.Empty(Nothing.Judge(
        [(Adopted with { AdoptedAt = null }, false), (Adopted with { AdoptedAt = null, Left = 0 }, true)],
        []).Problems);

    [Fact]
    public void A_dead_processor_that_is_called_too_often_fails_the_run() => Assert.Single(Nothing.Judge(
        [], [new ChaosDeadCalls(ChaosStep.Default, PerSecond: 21, [210])]).Problems);
}

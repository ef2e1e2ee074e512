namespace PaymentGateway.Tests.Chaos;

/// <summary>A run that caused less than its schedule must cause is red.</summary>
public sealed class ChaosFloorsTests
{
    private static readonly ChaosCaused Enough = new(
        TimeSpan.FromSeconds(75), Sent: 9_000, Acknowledged: 9_000, AtFirst: 5_000, Settled: 9_000, AtFallback: 600,
        AdoptedInDoubt: 40, LeftByKills: [0, 40], CleanKills: 2, JudgedKills: 1, Doubted: 90, LookUps: 200,
        LongOutages: 2,
        [
            new ChaosWireFault(ChaosKind.DatabaseCut, "api1", 4),
            new ChaosWireFault(ChaosKind.ProcessorDeaf, "default", 9),
        ]);

    [Fact]
    public void A_run_that_caused_enough_faults_passes_the_floors() => Assert.Empty(ChaosFloors.Missed(Enough));

    [Fact]
    public void A_gateway_that_answers_503_for_ever_fails_the_run() => Assert.NotEmpty(ChaosFloors.Missed(
        Enough with { Acknowledged = 0, AtFirst = 0, Settled = 0, AtFallback = 0, LeftByKills = [], LookUps = 0 }));
}

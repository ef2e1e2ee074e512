namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosFloorsTests
{
    private static readonly ChaosCaused Enough = new(
        TimeSpan.FromSeconds(75), Sent: 9_000, Acknowledged: 9_000, AtFirst: 5_000, Settled: 9_000,
        [new("default", 8_300, 0), new("fallback", 600, 2), new("third", 100, 1)], AdoptedInDoubt: 40,
        LeftByKills: [0, 40], Doubted: 90, LookUps: 200,
        [
            new ChaosWireFault(ChaosKind.DatabaseCut, "api1", 4),
            new ChaosWireFault(ChaosKind.ProcessorDeaf, "default", 9),
        ]);

    [Fact]
    public void A_run_that_caused_enough_faults_passes_the_floors() => Assert.Empty(ChaosFloors.Missed(Enough));

    [Fact]
    public void A_run_without_payments_at_the_processor_that_an_outage_left_fails_the_floors() => Assert.Equal(
        ["too little happened: 19 payments went to third, at least 20 must"],
        ChaosFloors.Missed(Enough with { Shares = [new("fallback", 40, 2), new("third", 19, 1)] }));

    [Fact]
    public void A_gateway_that_answers_503_for_ever_fails_the_run() => Assert.NotEmpty(ChaosFloors.Missed(
        Enough with { Acknowledged = 0, AtFirst = 0, Settled = 0, Shares = [], LeftByKills = [], LookUps = 0 }));
}

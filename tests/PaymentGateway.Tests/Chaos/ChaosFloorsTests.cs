namespace PaymentGateway.Tests.Chaos;

/// <summary>A run that caused less than its schedule must cause is red, in each respect by itself.</summary>
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

    public static TheoryData<string, Func<ChaosCaused, ChaosCaused>> TooLittle { get; } = new()
    {
        { "were sent", run => run with { Sent = 5_000, Acknowledged = 5_000 } },
        { "after everything was healed", run => run with { Acknowledged = 8_999 } },
        { "at the first attempt", run => run with { AtFirst = 0 } },
        { "are settled", run => run with { Settled = 8_000 } },
        { "left by the kills", run => run with { LeftByKills = [0, 0], AdoptedInDoubt = 0 } },
        { "adopted in doubt", run => run with { AdoptedInDoubt = 0 } },
        { "judged by the limit on adoption", run => run with { JudgedKills = 0 } },
        { "answered doubts", run => run with { LookUps = 10 } },
        { "went to fallback", run => run with { AtFallback = 0 } },
        { "suffered DatabaseCut", run => run with { WireFaults = [new(ChaosKind.DatabaseCut, "api1", 0)] } },
    };

    [Fact]
    public void A_run_that_caused_enough_faults_passes_the_floors() => Assert.Empty(ChaosFloors.Missed(Enough));

    [Theory]
    [MemberData(nameof(TooLittle))]
    public void A_run_that_caused_too_few_faults_names_them(string what, Func<ChaosCaused, ChaosCaused> less) =>
        Assert.Contains(
            ChaosFloors.Missed(less(Enough)), missed => missed.Contains(what, StringComparison.Ordinal));

    [Fact]
    public void A_gateway_that_answers_503_for_ever_fails_the_run() => Assert.NotEmpty(ChaosFloors.Missed(
        Enough with { Acknowledged = 0, AtFirst = 0, Settled = 0, AtFallback = 0, LeftByKills = [], LookUps = 0 }));
}

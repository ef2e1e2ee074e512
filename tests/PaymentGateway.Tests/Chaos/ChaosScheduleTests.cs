namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosScheduleTests
{
    private static readonly TimeSpan Short = TimeSpan.FromSeconds(75);

    [Fact]
    public void The_same_seed_gives_the_same_schedule_and_another_seed_another()
    {
        var first = Plan(seed: 7).ToString();

        Assert.Equal(first, Plan(seed: 7).ToString());
        Assert.NotEqual(first, Plan(seed: 8).ToString());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void A_short_run_holds_every_kind_of_fault_and_each_of_its_lines_one_at_a_time(int seed)
    {
        var schedule = Plan(seed);

        Assert.Equal(Enum.GetValues<ChaosKind>(), schedule.All.Select(step => step.Kind).Distinct().Order());
        foreach (var line in new[] { schedule.Parts, schedule.Processors, schedule.Wires })
            Assert.All(line.Zip(line.Skip(1)), pair => Assert.True(pair.First.At + pair.First.Hold < pair.Second.At));
    }

    [Fact]
    public void An_unlogged_ledger_gets_no_crash_in_the_schedule()
    {
        var schedule = ChaosSchedule.Plan(1, durable: false, TimeSpan.FromMinutes(10));

        Assert.DoesNotContain(schedule.Parts, step => step.Kind == ChaosKind.DatabaseCrash);
    }

    [Fact]
    public void What_is_excluded_by_name_is_not_played_and_an_unknown_name_is_refused()
    {
        var without = ChaosSettings.Kinds(["stalled-backend", "purge"]);

        var schedule = ChaosSchedule.Plan(1, durable: true, TimeSpan.FromMinutes(10), without);

        Assert.Equal([ChaosKind.StalledBackend], without);
        Assert.DoesNotContain(schedule.Parts, step => step.Kind == ChaosKind.StalledBackend);
        Assert.Contains(schedule.Parts, step => step.Kind == ChaosKind.FrozenDatabase);
        Assert.Throws<InvalidOperationException>(() => ChaosSettings.Kinds(["stalled"]));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Of_three_processors_each_is_disturbed_and_a_long_outage_leaves_only_the_dearest(int seed)
    {
        var steps = ChaosSchedule.Plan(seed, durable: true, TimeSpan.FromSeconds(280), processors: 3).All.ToList();

        Assert.Superset(
            new HashSet<string> { "default", "fallback", "third", ChaosStep.Both },
            steps.Where(step => step.Kind >= ChaosKind.Outage).Select(step => step.Target).ToHashSet());
        Assert.Contains(steps, step => step is { Kind: ChaosKind.Outage, Target: "default+fallback" }
            && step.Hold > ChaosSchedule.FallbackAfter + TimeSpan.FromSeconds(2));
    }

    // Otherwise a 404 after a fault would prove nothing, and the rig itself would cause a charge at both. A frozen
    // database outlasts an acceptance, and a stalled backend the search for its rows.
    [Fact]
    public void Faults_last_long_enough_and_none_delays_a_charge_for_longer_than_the_horizon()
    {
        var steps = ChaosSchedule.Plan(1, durable: true, TimeSpan.FromMinutes(10)).All.ToLookup(step => step.Kind);

        Assert.All(steps[ChaosKind.Hang], hang => Assert.True(
            hang.Hold + TimeSpan.FromMilliseconds(ChaosSchedule.SlowMs) < ChaosSchedule.Horizon));
        Assert.All(steps[ChaosKind.FrozenDatabase], step => Assert.True(step.Hold > TimeSpan.FromSeconds(2)));
        Assert.Contains(steps[ChaosKind.StalledBackend], step => step.Hold > TimeSpan.FromSeconds(14));
    }

    private static ChaosSchedule Plan(int seed) => ChaosSchedule.Plan(seed, durable: true, Short);
}

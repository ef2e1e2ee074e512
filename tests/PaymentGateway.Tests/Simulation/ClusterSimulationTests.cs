using FsCheck.Fluent;
using PaymentGateway.Tests.EndToEnd;
using PaymentGateway.Tests.Storage;

namespace PaymentGateway.Tests.Simulation;

/// <summary>Beside nothing else, as <see cref="Alone"/>: it waits until the thread pool is idle.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class SimulationAlone
{
    public const string Name = "Simulation";
}

/// <summary>
/// Schedules of faults, by seed, on real instances and a real database (docs/testing.md). SEED and RUNS name others.
/// </summary>
[Collection(SimulationAlone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class ClusterSimulationTests(
    SimulatedDatabase unlogged, SimulatedDurableDatabase durable, ITestOutputHelper output)
    : IClassFixture<SimulatedDatabase>, IClassFixture<SimulatedDurableDatabase>
{
    private const int RunsOfATest = 40;
    private const int Size = 50;

    private readonly Marks _marks = new();

    [PostgresFact]
    public async Task No_schedule_of_faults_charges_twice_or_loses_an_acknowledged_payment()
    {
        var first = Setting("SEED") ?? 1;
        var runs = Setting("RUNS") ?? RunsOfATest;
        var watch = Stopwatch.StartNew();
        await OnAThreadAsync(() =>
        {
            for (var seed = first; seed < first + runs; seed++)
                PlayAndShrink(seed);
        });
        output.WriteLine($"{runs} schedules from seed {first} in {watch.Elapsed.TotalSeconds:0} s\n{_marks}");
    }

    /// <summary>A red run prints a line for schedules.txt.</summary>
    [PostgresFact]
    public Task Each_schedule_that_found_a_fault_or_a_mutant_passes() => OnAThreadAsync(() =>
    {
        foreach (var line in File.ReadLines(Repository.PathOf(
            "tests", "PaymentGateway.Tests", "Simulation", "schedules.txt")))
            if (Play(Schedule.Parse(line)).Violation is { } violation)
                Assert.Fail($"{line}: {violation.Message}\n{violation.Trace}");
    });

    [Fact]
    public void A_schedule_is_parsed_as_it_is_printed()
    {
        foreach (var printed in Enumerable.Range(1, 100).Select(seed => $"{Of(seed)}"))
            Assert.Equal(printed, $"{Schedule.Parse(printed)}");
    }

    [PostgresFact]
    public Task A_seed_is_one_execution() => OnAThreadAsync(() =>
    {
        foreach (var schedule in Enumerable.Range(1, 5).Select(Of))
            Assert.Equal(Play(schedule).Trace, Play(schedule).Trace);
    });

    [Fact]
    public void Each_moment_of_a_schedule_is_a_place_in_a_charge_or_around_a_statement() => Assert.Subset(
        new HashSet<string>(
        [
            "Connects", "Sent", "UsesFallback", "Stored", .. StatementNames.All,
            .. StatementNames.All.Select(name => name + StatementNames.Answered),
        ]),
        Enumerable.Range(1, 300).SelectMany(seed => Of(seed).Steps).Where(step => step.Verb == Verb.Arm)
            .Select(step => step.Moment).ToHashSet());

    // A thread of its own, which is none of the pool's.
    private static Task OnAThreadAsync(Action play) => Task.Factory.StartNew(
        play, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    // A seed is one schedule, so that it alone replays a failure.
    private static Schedule Of(int seed) =>
        Schedule.All.Generator.Sample(1, new Rnd((ulong)seed, 1), Size).Single();

    private void PlayAndShrink(int seed)
    {
        var schedule = Of(seed);
        var violation = Play(schedule).Violation;
        _marks.EndSchedule();
        if (violation is null)
            return;

        while (Schedule.All.Shrinker(schedule).Select(smaller => (Smaller: smaller, Play(smaller).Violation))
            .FirstOrDefault(tried => tried.Violation is not null) is { Violation: not null } found)
            (schedule, violation) = found;
        Assert.Fail($"make simulate SEED={seed} RUNS=1: {violation.Message}\n{schedule}\n{violation.Trace}");
    }

    private (ViolationException? Violation, string Trace) Play(Schedule schedule)
    {
        var knobs = new Knobs(schedule.Seed);
        using var cluster = new SimulatedCluster(
            knobs.IsDurable ? durable : unlogged, knobs, schedule.Seed, schedule.Instances, _marks);
        ViolationException? violation = null;
        try
        {
            cluster.Play(schedule.Steps);
        }
        catch (ViolationException found)
        {
            violation = found;
        }

        return (violation, cluster.Traced);
    }

    private static int? Setting(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } given
        ? int.Parse(given, CultureInfo.InvariantCulture)
        : null;
}

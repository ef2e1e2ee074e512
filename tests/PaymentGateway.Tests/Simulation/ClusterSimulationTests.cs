using FsCheck.Fluent;
using PaymentGateway.Tests.EndToEnd;

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
    private const int RunsOfATest = 200;
    private const int Size = 50;

    // SHRINK=0: the first red one ends the run, as it is.
    private static readonly TimeSpan ShrinksFor = TimeSpan.FromSeconds(Setting("SHRINK") ?? 30);
    private static readonly int RedMax = ShrinksFor > TimeSpan.Zero ? 5 : 1;

    private readonly Marks _marks = new();
    private readonly List<string> _red = [];

    [PostgresFact]
    public async Task No_schedule_of_faults_charges_twice_or_loses_an_acknowledged_payment()
    {
        var first = Setting("SEED") ?? 1;
        var given = Environment.GetEnvironmentVariable("SCHEDULES") is { Length: > 0 } schedules
            ? schedules.Split('|') : [];
        var runs = given.Length > 0 ? given.Length : Setting("RUNS") ?? RunsOfATest;
        var watch = Stopwatch.StartNew();
        await OnAThreadAsync(pool =>
        {
            foreach (var schedule in given)
                PlayAndShrink(pool, Schedule.Parse(schedule), "SCHEDULES='…'");
            for (var seed = first; given.Length == 0 && seed < first + runs && _red.Count < RedMax; seed++)
                PlayAndShrink(pool, Of(seed), $"SEED={seed} RUNS=1");
        });
        output.WriteLine($"{runs} schedules from seed {first} in {watch.Elapsed.TotalSeconds:0} s\n{_marks}");
        Assert.True(_red.Count == 0, string.Join('\n', _red.Skip(1).Concat(_red.Take(1))));
        if (given.Length == 0)
            Assert.Equal([], Marks.RequiredWithin(runs).Where(mark => !_marks.IsReached(mark)));
    }

    [Fact]
    public void A_schedule_is_parsed_as_it_is_printed()
    {
        foreach (var printed in Enumerable.Range(1, 100).Select(seed => $"{Of(seed)}"))
            Assert.Equal(printed, $"{Schedule.Parse(printed)}");
    }

    [PostgresFact]
    public Task A_seed_is_one_execution() => OnAThreadAsync(pool =>
    {
        foreach (var schedule in Enumerable.Range(1, 5).Select(Of))
            Assert.Equal(Play(pool, schedule).Trace, Play(pool, schedule).Trace);
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
    private static Task OnAThreadAsync(Action<PoolThread> play) => Task.Factory.StartNew(
        () =>
        {
            using var pool = new PoolThread();
            play(pool);
        },
        CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    // A seed is one schedule, so that it alone replays a failure. Neighbours are mixed, because FsCheck draws alike
    // from numbers that are near each other.
    private static Schedule Of(int seed) =>
        Schedule.All.Generator.Sample(1, new Rnd((ulong)seed * 0x9e3779b97f4a7c15, 1), Size).Single();

    // The first red one with the fewest steps and its trace, and the others by a line each.
    private void PlayAndShrink(PoolThread pool, Schedule schedule, string name)
    {
        var violation = Play(pool, schedule).Violation;
        _marks.EndSchedule();
        if (violation is null)
            return;

        var watch = Stopwatch.StartNew();
        while (_red.Count == 0 && Schedule.All.Shrinker(schedule).TakeWhile(_ => watch.Elapsed < ShrinksFor)
            .Select(smaller => (Smaller: smaller, Play(pool, smaller).Violation))
            .FirstOrDefault(tried => tried.Violation is not null) is { Violation: not null } found)
            (schedule, violation) = found;
        _red.Add($"make simulate {name}: {violation.Message}"
            + (_red.Count == 0 ? $"\n{schedule}\n{violation.Trace}" : ""));
    }

    private (ViolationException? Violation, string Trace) Play(PoolThread pool, Schedule schedule)
    {
        var knobs = new Knobs(schedule.Seed);
        using var cluster = new SimulatedCluster(
            knobs.IsDurable ? durable : unlogged, knobs, schedule.Seed, schedule.Instances, _marks, pool);
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

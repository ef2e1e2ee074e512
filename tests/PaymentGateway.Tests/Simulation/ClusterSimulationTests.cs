using FsCheck.Fluent;
using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Simulation;

/// <summary>Beside nothing else, as <see cref="Alone"/>: it looks at when the thread pool is idle.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class SimulationAlone
{
    public const string Name = "Simulation";
}

/// <summary>
/// Schedules of faults, by seed, on real instances and a real database (docs/testing.md). SEED and RUNS name others.
/// </summary>
[Collection(SimulationAlone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class ClusterSimulationTests(SimulatedDatabase database, ITestOutputHelper output)
    : IClassFixture<SimulatedDatabase>
{
    private const int RunsOfATest = 100;

    [PostgresFact]
    public async Task No_schedule_of_faults_charges_twice_or_loses_an_acknowledged_payment()
    {
        var first = int.Parse(Setting("SEED") ?? "1", CultureInfo.InvariantCulture);
        var runs = int.Parse(Setting("RUNS") ?? $"{RunsOfATest}", CultureInfo.InvariantCulture);
        var watch = Stopwatch.StartNew();
        await Task.Factory.StartNew(() =>
        {
            for (var seed = first; seed < first + runs; seed++)
                Play(seed);
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        output.WriteLine($"{runs} schedules from seed {first} in {watch.Elapsed.TotalSeconds:0} s");
    }

    // A seed is one schedule, so that it alone replays a failure.
    private void Play(int seed)
    {
        Exception? last = null;
        Schedule? shrunk = null;
        var config = Config.Quick.WithMaxTest(1).WithReplay((ulong)seed, 1).WithQuietOnSuccess(true)
            .WithRunner(new Quiet());
        Prop.ForAll(Schedule.All, schedule =>
        {
            try
            {
                using var cluster = new SimulatedCluster(database, schedule.Seed);
                cluster.Play(schedule.Steps);
                return true;
            }
            catch (Exception failed)
            {
                (last, shrunk) = (failed, schedule);
                return false;
            }
        }).Check(config);
        if (last is not null)
            Assert.Fail($"make simulate SEED={seed} RUNS=1: {last.Message}\n{shrunk}\n{(last as ViolationException)?.Trace ?? $"{last}"}");
    }

    private static string? Setting(string name) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } given ? given : null;

    private sealed class Quiet : IRunner
    {
        public void OnStartFixture(Type t)
        {
        }

        public void OnArguments(int ntest, Microsoft.FSharp.Collections.FSharpList<object> args,
            Microsoft.FSharp.Core.FSharpFunc<int, Microsoft.FSharp.Core.FSharpFunc<
                Microsoft.FSharp.Collections.FSharpList<object>, string>> every)
        {
        }

        public void OnShrink(Microsoft.FSharp.Collections.FSharpList<object> args,
            Microsoft.FSharp.Core.FSharpFunc<Microsoft.FSharp.Collections.FSharpList<object>, string> everyShrink)
        {
        }

        public void OnFinished(string name, TestResult testResult)
        {
        }
    }
}

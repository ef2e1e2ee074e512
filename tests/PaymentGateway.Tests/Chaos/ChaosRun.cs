namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// Charges that reached a processor while its failure switch was on, after the first second of it and without its
/// busiest one: whoever finds it dead has as many charges in flight as it may have, and its breaker opens by them.
/// </summary>
/// <param name="BySecond">All after the first, the busiest included.</param>
public sealed record ChaosDeadCalls(string Processor, double PerSecond, IReadOnlyList<long> BySecond);

/// <summary>Does to a system what the schedule says, each of its three lines in order.</summary>
public sealed class ChaosRun(GatewaySystem system, ChaosSchedule schedule) : IDisposable
{
    private const string Postgres = "postgres";
    private const string Nginx = "nginx";

    // Keeps charges in flight when something dies.
    private static readonly TimeSpan RestDelay = TimeSpan.FromMilliseconds(60);

    // A charge that was in flight when a processor began to fail is no retry.
    private static readonly TimeSpan OutageSettles = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan OutageOutlasts = TimeSpan.FromSeconds(2);

    private readonly ChaosDatabase _database = new(system);
    private readonly List<ChaosDone> _done = [];
    private readonly Stopwatch _clock = new();
    private readonly SemaphoreSlim _processorsAreMine = new(1);
    private DateTime _began;

    public ChaosKills Kills { get; } = new(new ChaosDatabase(system));

    public ChaosWires Wires { get; } = new(system, new ChaosDatabase(system));

    public ConcurrentBag<ChaosDeadCalls> DeadCalls { get; } = [];

    /// <summary>Payments that were hit by a fault which leaves them stored and unanswered.</summary>
    public long Doubted { get; private set; }

    /// <summary>Steps that were done so far; a step that goes on has no end yet.</summary>
    public IReadOnlyList<ChaosDone> Done
    {
        get
        {
            lock (_done)
                return [.. _done];
        }
    }

    public string Journal => string.Join('\n', Done.Select(one =>
        $"{(one.From - _began).TotalSeconds,6:0.0} to {(one.To - _began).TotalSeconds,6:0.0} s  "
        + $"{one.Kind} {one.Target}"));

    public async Task ToTheEndAsync()
    {
        _began = DateTime.UtcNow;
        _clock.Start();
        await HealAsync(ChaosStep.Both);
        await Task.WhenAll(
            DoAllAsync(schedule.Parts, DoToPartAsync), DoAllAsync(schedule.Processors, DisturbAsync),
            DoAllAsync(schedule.Wires, step => Wires.DoAsync(step, PassAsync)));
    }

    public async Task HealAllAsync()
    {
        system.Relays.HealAll();
        foreach (var processor in system.Processors.Values)
            await processor.HealAsync();

        // Only a schedule that broke off has left anything to start.
        foreach (var part in new[] { Postgres, GatewaySystem.First, GatewaySystem.Second, Nginx })
            if (!system.Runs(part))
                await system.StartAsync(part);
    }

    public async Task<ChaosCaused> CausedAsync(TimeSpan length, LoadLedger ledger)
    {
        var calls = await Task.WhenAll(system.Processors.Values.Select(processor => processor.CallsAsync()));
        var settled = (await system.Database.SettlementsAsync()).Values.ToLookup(row => row.Processor);
        var longOutages = schedule.Processors.Where(step => step.Kind == ChaosKind.Outage
            && step.Hold > ChaosSchedule.FallbackAfter + OutageOutlasts).ToLookup(step => step.Target);
        return new ChaosCaused(
            length, ledger.Count, ledger.Acknowledged,
            ledger.Entries.Count(entry => entry is { Outcome: LoadOutcome.Acknowledged, Attempts: 1 }),
            settled.Sum(rows => rows.Count()),
            [.. system.Processors.Keys.Select((name, at) => new ChaosShare(
                name, settled[name].Count(), longOutages[ChaosStep.Of(system.Processors.Keys.Take(at))].Count()))],
            await system.Database.CountAsync("payments WHERE may_be_at > 0"),
            [.. Kills.All.Select(kill => kill.Left)], Doubted,
            calls.Sum(one => one.Lookups + one.Duplicates422), Wires.Faults);
    }

    public void Dispose() => _processorsAreMine.Dispose();

    private async Task DoAllAsync(IEnumerable<ChaosStep> steps, Func<ChaosStep, Task> doItAsync)
    {
        foreach (var planned in steps)
        {
            await PassAsync(planned.At - _clock.Elapsed);
            var step = planned.Target == ChaosStep.Loaded
                ? planned with { Target = await Kills.FindLoadedAsync() }
                : planned;
            var doing = new ChaosDone(step.Kind, step.Target, DateTime.UtcNow, DateTime.MaxValue);
            lock (_done)
                _done.Add(doing);
            await doItAsync(step);
            lock (_done)
                _done[_done.IndexOf(doing)] = doing with { To = DateTime.UtcNow };
        }
    }

    // The pauses of the schedule; what happens in them is what the rig is about.
    private static Task PassAsync(TimeSpan pause) => pause > TimeSpan.Zero ? Task.Delay(pause) : Task.CompletedTask;

    private Task DoToPartAsync(ChaosStep step) => step.Kind switch
    {
        ChaosKind.Kill => KillAsync(step, step.Target),
        ChaosKind.KillBoth => KillAsync(step, GatewaySystem.First, GatewaySystem.Second),
        ChaosKind.KillWithDatabase => KillWithDatabaseAsync(step),
        ChaosKind.NginxKill => StoppedAsync(step, Nginx, () => system.KillAsync(Nginx)),
        ChaosKind.Pause => FreezeAsync(step, system.PidOf(step.Target)),
        ChaosKind.PauseInOutage => PauseInOutageAsync(step),
        ChaosKind.Terminate => StoppedAsync(step, step.Target, () => system.StopAsync(step.Target)),
        ChaosKind.DatabaseRestart => StoppedAsync(step, Postgres, () => system.StopAsync(Postgres)),
        ChaosKind.DatabaseCrash => StoppedAsync(step, Postgres, CrashAsync),
        ChaosKind.FrozenDatabase => FreezeAsync(step, system.Database.Freeze, system.Database.Thaw),
        ChaosKind.StalledBackend => StallAsync(step),
        ChaosKind.Reload => Task.FromResult(Posix.Send(system.PidOf(Nginx), Signal.Hangup)),
        _ => throw new InvalidOperationException($"{step.Kind} is for processors"),
    };

    private async Task KillAsync(ChaosStep step, params string[] parts)
    {
        foreach (var part in parts)
            await Kills.KillAsync(part, () => system.KillAsync(part));
        await PassAsync(step.Hold);
        await system.StartAsync(parts);
    }

    // An unlogged ledger would be empty after a crash, so there the server is stopped, with nobody to say goodbye to.
    private async Task KillWithDatabaseAsync(ChaosStep step)
    {
        await Kills.KillAsync(step.Target, async () =>
        {
            await system.KillAsync(step.Target);
            await (schedule.IsDurable ? CrashAsync() : system.StopAsync(Postgres));
        });
        await PassAsync(step.Hold);
        await system.StartAsync(Postgres);
        await system.StartAsync(step.Target);
    }

    private static Task FreezeAsync(ChaosStep step, int pid) => FreezeAsync(
        step, () => Posix.Send(pid, Signal.Stop), () => Posix.Send(pid, Signal.Continue));

    private static async Task FreezeAsync(ChaosStep step, Action freeze, Action thaw)
    {
        freeze();
        try
        {
            await PassAsync(step.Hold);
        }
        finally
        {
            thaw();
        }
    }

    // The instance's payments have been adopted and, past the fallback delay, charged at fallback when it goes on; and
    // default is healthy just then, so an instance without fencing charges them all there.
    private async Task PauseInOutageAsync(ChaosStep step)
    {
        await _processorsAreMine.WaitAsync();
        try
        {
            await system.Default.SetFailureAsync(true);
            await PassAsync(OutageSettles);
            var paused = FreezeAsync(step, system.PidOf(step.Target));
            await PassAsync(step.Hold - TimeSpan.FromSeconds(0.3));
            await system.Default.SetFailureAsync(false);
            await paused;
        }
        finally
        {
            _processorsAreMine.Release();
        }
    }

    private async Task StoppedAsync(ChaosStep step, string part, Func<Task> stopAsync)
    {
        await stopAsync();
        await PassAsync(step.Hold);
        await system.StartAsync(part);
    }

    private async Task StallAsync(ChaosStep step)
    {
        List<int> backends = [];
        await Eventually.HoldsAsync(
            async () => (backends = await _database.GatewayBackendsAsync()).Count > 0, "the gateway has a connection");
        await FreezeAsync(step, backends[step.Amount!.Value % backends.Count]);
    }

    private async Task CrashAsync()
    {
        await system.Database.CrashAsync();
        await system.StopAsync(Postgres);
    }

    private async Task DisturbAsync(ChaosStep step)
    {
        await _processorsAreMine.WaitAsync();
        try
        {
            await Task.WhenAll(Hit(step.Target).Select(name => DisturbAsync(name, step)));
        }
        finally
        {
            await HealAsync(step.Target);
            _processorsAreMine.Release();
        }
    }

    private async Task DisturbAsync(string name, ChaosStep step)
    {
        var processor = system.Processors[name];
        switch (step.Kind)
        {
            case ChaosKind.Outage:
                await FailAsync(name, step.Hold);
                return;
            case ChaosKind.Slow:
                await processor.SetDelayAsync(TimeSpan.FromMilliseconds(step.Amount!.Value));
                break;
            default:
                await processor.SetFaultsAsync(FaultOf(step));
                break;
        }

        await PassAsync(step.Hold);
        if (step.Kind is ChaosKind.StoredThenError or ChaosKind.StoredThenHang
            && await processor.FaultTimesLeftAsync() is { } left)
            Doubted += step.Amount!.Value - left;
    }

    private async Task FailAsync(string name, TimeSpan hold)
    {
        var processor = system.Processors[name];
        await processor.SetFailureAsync(true);
        await PassAsync(OutageSettles);
        var seconds = new List<(long Calls, TimeSpan Within)>();
        for (var left = hold - OutageSettles; left > TimeSpan.Zero; left -= OutageSettles)
        {
            var before = (await processor.CallsAsync()).Posts;
            var counted = Stopwatch.StartNew();
            await PassAsync(left < OutageSettles ? left : OutageSettles);
            seconds.Add(((await processor.CallsAsync()).Posts - before, counted.Elapsed));
        }

        var others = seconds.OrderByDescending(second => second.Calls).Skip(1).ToList();
        var within = others.Sum(second => second.Within.TotalSeconds);
        DeadCalls.Add(new ChaosDeadCalls(
            name, within > 0 ? others.Sum(second => second.Calls) / within : 0,
            seconds.ConvertAll(second => second.Calls)));
    }

    private static object FaultOf(ChaosStep step) => step.Kind switch
    {
        ChaosKind.StoredThenReset => new { afterInsert = "reset", times = step.Amount },
        ChaosKind.StoredThenError => new { afterInsert = "errorBody", times = step.Amount },
        ChaosKind.StoredThenHang => new { afterInsert = "hang", times = step.Amount },
        ChaosKind.Hang => new { beforeInsert = "hang", times = step.Amount },
        ChaosKind.TooMany => new { tooMany = true, times = step.Amount },
        ChaosKind.Garbage => new { garbage = true, times = step.Amount },
        ChaosKind.LookUpsFail => new
        {
            afterInsert = "reset",
            lookUp = ChaosSchedule.LookUpFaults[step.Amount!.Value],
        },
        ChaosKind.StatusStorm => new { status = step.Amount },
        ChaosKind.Trickle => new { trickle = true, times = step.Amount },
        _ => throw new InvalidOperationException($"{step.Kind} is no fault of a processor"),
    };

    private async Task HealAsync(string target)
    {
        foreach (var name in Hit(target))
            await system.Processors[name].HealAsync(RestDelay);
    }

    private IEnumerable<string> Hit(string target) =>
        system.Processors.Keys.Where(name => ChaosStep.Hits(target, name));
}

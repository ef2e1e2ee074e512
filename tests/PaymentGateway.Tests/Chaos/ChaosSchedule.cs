namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// The steps of a run and their times, all from the seed. Three lines run side by side: one does things to
/// instances, PostgreSQL and nginx; one to the processors; one to the connections between them.
/// </summary>
public sealed class ChaosSchedule
{
    /// <summary>
    /// Longer than a call can take to be stored: <see cref="SlowMs"/> plus <see cref="HangHold"/>, as a call that a
    /// slow processor still delays may run into a hang; counted from a death of the owner right after sending.
    /// </summary>
    public static readonly TimeSpan Horizon = TimeSpan.FromSeconds(5);

    public static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(2);

    public static readonly TimeSpan FallbackAfter = TimeSpan.FromSeconds(5);

    /// <summary>Above the gateway's limit of a call, so that it gives up what will be charged all the same.</summary>
    public const int SlowMs = 2_600;

    /// <summary>Faults of look-ups, by the simulator's names.</summary>
    public static IReadOnlyList<string> LookUpFaults { get; } = ["tooMany", "errorBody", "garbage", "hang"];

    private const string Postgres = "postgres";

    // Two pools of ten; which of those that are there is taken modulo their number.
    private const int BackendsMax = 20;

    private static readonly TimeSpan Beginning = TimeSpan.FromSeconds(1.5);

    private static readonly TimeSpan HangHold = TimeSpan.FromSeconds(2);

    // An instance's payments are adopted and charged elsewhere by then: a lease, the horizon, the look-ups.
    private static readonly TimeSpan AdoptionTakes = TimeSpan.FromSeconds(10);

    // Longer than a lease.
    private static readonly TimeSpan PauseHold = TimeSpan.FromSeconds(5);

    // Statuses of a proxy in between (contract.md knows none of them).
    private static readonly int[] Statuses = [401, 403, 404, 408];

    private readonly Random _random;
    private readonly TimeSpan _length;
    private readonly IReadOnlySet<ChaosKind> _without;
    private readonly string[] _targets;

    private ChaosSchedule(int seed, bool durable, TimeSpan length, IReadOnlySet<ChaosKind> without, int processors)
    {
        var names = PartNames.Processors.Take(processors).ToList();
        _targets = [names[0], .. names];
        _random = new Random(seed);
        _length = length;
        _without = without;
        IsDurable = durable;
        List<Func<TimeSpan, ChaosStep>> parts =
        [
            at => new(at, ChaosKind.Kill, Instance(), TimeSpan.Zero),
            at => new(at, ChaosKind.KillBoth, ChaosStep.Both, Seconds(0, 1)),
            at => new(at, ChaosKind.KillWithDatabase, ChaosStep.Loaded, Seconds(0, 1)),
            at => new(at, ChaosKind.Pause, Instance(), PauseHold),
            at => new(at, ChaosKind.PauseInOutage, ChaosStep.Loaded, AdoptionTakes),
            at => new(at, ChaosKind.Terminate, Instance(), Seconds(0, 2)),
            at => new(at, ChaosKind.DatabaseRestart, Postgres, Seconds(0, 2)),
            // Longer than an acceptance waits for its row, at times than a lease.
            at => new(at, ChaosKind.FrozenDatabase, Postgres, Seconds(2.5, 6)),
            // At times for longer than the gateway waits before it searches for what an INSERT may have stored.
            at => new(at, ChaosKind.StalledBackend, Postgres, Seconds(8, 15), _random.Next(BackendsMax)),
            at => new(at, ChaosKind.Reload, "nginx", TimeSpan.Zero),
            at => new(at, ChaosKind.NginxKill, "nginx", Seconds(0, 1)),
        ];
        if (durable)
            parts.Add(at => new(at, ChaosKind.DatabaseCrash, Postgres, Seconds(0, 2)));
        // Parts follow one another closely, but for the time that a stop and a start take; processors are well in
        // between, so that default is used, too. Default is slow when the first instance is killed, so that it surely
        // leaves something, and the other one adopts it.
        Parts = Deal(
            2 * Beginning, at => new(at, ChaosKind.Kill, ChaosStep.Loaded, AdoptionTakes + Seconds(0, 1)), [.. parts],
            () => Seconds(1, 2));
        // Otherwise the dearest one of more than two would hardly be used.
        Func<TimeSpan, ChaosStep>[] dearest = processors > 2
            ? [at => new(at, ChaosKind.Outage, ChaosStep.Of(names.SkipLast(1)), Seconds(7.5, 9))]
            : [];
        Processors = Deal(
            Beginning,
            at => new(
                at, ChaosKind.Slow, Any(ChaosStep.Default, ChaosStep.Default, ChaosStep.Both), Seconds(5, 8), SlowMs),
            [
                // Longer than the fallback delay at times, so that fallback is used.
                at => new(at, ChaosKind.Outage, Processor(), Seconds(5, 9)),
                at => new(at, ChaosKind.Outage, ChaosStep.Both, Seconds(4, 8)),
                // Beyond the fallback delay: whoever forgets the doubt sends it to fallback then.
                at => new(at, ChaosKind.StoredThenReset, ChaosStep.Default, FallbackAfter + Seconds(2, 4)),
                at => new(at, ChaosKind.StoredThenError, Processor(), Seconds(1, 3), _random.Next(20, 60)),
                at => new(at, ChaosKind.StoredThenHang, Processor(), Seconds(2, 4), 30),
                at => new(at, ChaosKind.Hang, Processor(), HangHold, _random.Next(20, 60)),
                at => new(at, ChaosKind.TooMany, Processor(), Seconds(2, 4)),
                at => new(at, ChaosKind.Garbage, Processor(), Seconds(1, 3), 40),
                at => new(at, ChaosKind.Trickle, Processor(), Seconds(2, 4), _random.Next(10, 30)),
                at => new(
                    at, ChaosKind.LookUpsFail, ChaosStep.Default, Seconds(3, 5), _random.Next(LookUpFaults.Count)),
                at => new(
                    at, ChaosKind.StatusStorm, Processor(), Seconds(2, 4), Statuses[_random.Next(Statuses.Length)]),
                .. dearest,
            ],
            () => Seconds(0.5, 1.5));
        Wires = Deal(
            Beginning, null,
            [
                at => new(at, ChaosKind.TerminatedBackend, Postgres, Seconds(1, 2)),
                at => new(at, ChaosKind.DatabaseCut, Instance(), Seconds(1, 2)),
                // At times longer than a lease.
                at => new(at, ChaosKind.DatabaseMute, Instance(), Seconds(2, 5)),
                at => new(at, ChaosKind.DatabaseHalfOpen, Instance(), Seconds(2, 5)),
                at => new(at, ChaosKind.DatabaseSlow, Instance(), Seconds(2, 4), _random.Next(20, 120)),
                at => new(at, ChaosKind.ProcessorCut, Processor(), Seconds(1, 2)),
                at => new(at, ChaosKind.ProcessorMute, Processor(), Seconds(2, 4)),
                at => new(at, ChaosKind.ProcessorDeaf, Processor(), Seconds(2, 4)),
            ],
            () => Seconds(1, 3));
    }

    public bool IsDurable { get; }

    public IReadOnlyList<ChaosStep> Parts { get; }

    public IReadOnlyList<ChaosStep> Processors { get; }

    public IReadOnlyList<ChaosStep> Wires { get; }

    public IEnumerable<ChaosStep> All => Parts.Concat(Processors).Concat(Wires);

    /// <summary>Equal arguments give equal schedules.</summary>
    public static ChaosSchedule Plan(
        int seed, bool durable, TimeSpan length, IReadOnlySet<ChaosKind>? without = null, int processors = 2) =>
        new(seed, durable, length, without ?? new HashSet<ChaosKind>(), processors);

    public override string ToString() =>
        string.Join('\n', All.OrderBy(step => step.At).Select(step => step.ToString()));

    // Each comes once before any comes again, so that a short run shows all of them.
    private List<ChaosStep> Deal(
        TimeSpan at, Func<TimeSpan, ChaosStep>? first, Func<TimeSpan, ChaosStep>[] deck, Func<TimeSpan> gap)
    {
        var steps = new List<ChaosStep>();
        while (true)
        {
            var before = steps.Count;
            _random.Shuffle(deck);
            foreach (var next in first is null ? deck : [first, .. deck])
            {
                var step = next(at);
                if (_without.Contains(step.Kind))
                    continue;
                var end = at + step.Hold;
                if (end > _length)
                    return steps;
                steps.Add(step);
                at = end + gap();
            }

            if (steps.Count == before)
                return steps; // Everything is excluded.
        }
    }

    private string Instance() => Any(GatewaySystem.First, GatewaySystem.Second);

    private string Processor() => Any(_targets);

    private string Any(params string[] names) => names[_random.Next(names.Length)];

    private TimeSpan Seconds(double least, double most) =>
        TimeSpan.FromSeconds(Math.Round(least + (most - least) * _random.NextDouble(), 1));
}

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// Instances, processors and a database on one clock. One thread does everything: it fires timers, runs continuations
/// and executes statements one by one, each chosen by the seed among those that are ready.
/// </summary>
internal sealed partial class SimulatedCluster : IDisposable
{
    private const int StepsMax = 300_000;

    private static readonly TimeSpan HealedWithin = TimeSpan.FromSeconds(90);
    private static readonly TimeSpan ForgottenWithin = TimeSpan.FromSeconds(10);

    private readonly SimulatedDatabase _database;
    private readonly Random _random;

    // Of its own, so that a check changes no execution.
    private readonly Random _checks;
    private readonly List<string> _trace = [];
    private readonly DirectoryInfo _sockets = Directory.CreateTempSubdirectory("sim");
    private readonly SimulatedInstance[] _instances;
    private readonly List<SimulatedInstance> _ended = [];
    private readonly Step?[] _armed;
    private readonly List<DatabaseLink> _unnoticed = [];
    private readonly PoolThread _pool;
    private TimeSpan _jumpedAt = -TimeSpan.FromMinutes(1);
    private TimeSpan _disturbedAt, _nextCheck;
    private bool _wasAhead;
    private bool _loses, _hasLost;
    private string? _violation;
    private int _links;

    public SimulatedCluster(
        SimulatedDatabase database, Knobs knobs, int seed, int instances, Marks marks, PoolThread pool)
    {
        _pool = pool;
        (_database, Knobs, Seed, _random, _checks) = (database, knobs, seed, new Random(seed), new Random(seed));
        (_instances, _armed, Marks) = (new SimulatedInstance[instances], new Step?[instances], marks);
        Time = new SimulatedTime(_random);
        Network = new Actor(Time);
        Processors = [.. knobs.Processors.Select(processor => new FaultyProcessor(this, processor, instances))];
        database.Begin(Time);
        Trace($"{knobs}");
        for (var who = 0; who < instances; who++)
            _instances[who] = new SimulatedInstance(this, who, database);
        Advance(TimeSpan.FromSeconds(0.1));
    }

    public int Seed { get; }

    public Knobs Knobs { get; }

    public Marks Marks { get; }

    public SimulatedTime Time { get; }

    /// <summary>What is nobody's: processors, and connections to them.</summary>
    public Actor Network { get; }

    public FaultyProcessor[] Processors { get; }

    private FaultyProcessor ProcessorOf(Step step) => Processors[Math.Min(step.Who % 10, Processors.Length) - 1];

    public string Socket => Path.Combine(_sockets.FullName, "api.sock");

    /// <summary>Plays the steps, ends all faults, and compares the ledgers.</summary>
    /// <exception cref="ViolationException">An invariant is broken.</exception>
    public void Play(IEnumerable<Step> steps)
    {
        foreach (var step in steps)
        {
            Do(step);
            Run();
            Check();
        }

        Heal();
    }

    public void Trace(string line)
    {
        lock (_trace)
            _trace.Add($"{Time.Now.TotalSeconds,8:0.000} {line}");
    }

    public string Traced => string.Join('\n', _trace);

    public DatabaseLink Link(Socket client) => new(client, _database, ++_links, _unnoticed);

    /// <summary>Whether something that is mostly quick is slow this time.</summary>
    public bool IsSlow() => _random.Next(8) == 0;

    /// <summary>A call to a processor breaks, by any of the exceptions that .NET lets out.</summary>
    public Exception BrokenConnection() => _random.Next(3) switch
    {
        0 => new SocketException((int)SocketError.ConnectionReset),
        1 => new IOException("broken"),
        _ => new HttpRequestException("broken"),
    };

    /// <summary>Does what is armed for this point.</summary>
    public void Reach(SimulatedInstance instance, string moment)
    {
        if (_armed[instance.Who] is not { } armed || armed.Moment != moment || _instances[instance.Who] != instance)
            return;

        _armed[instance.Who] = null;
        Do(new Step(armed.Armed, armed.Who, armed.Seconds));
    }

    public void Dispose()
    {
        foreach (var instance in _instances.Concat(_ended))
            instance.Dispose();
        _sockets.Delete(recursive: true);
    }

    private void Do(Step step)
    {
        Trace($"   {step}");
        var who = step.Who % _instances.Length;
        var instance = _instances[who];
        if (step.Verb is > Verb.Arm or Verb.Purge or Verb.Replay or Verb.Reconcile)
            Disturb(step.Verb is > Verb.Arm and < Verb.Lose ? instance : null);
        switch (step.Verb)
        {
            case <= Verb.Reconcile:
                Call(step.Verb, instance);
                break;
            case Verb.Wait:
                Advance(TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Break:
                ProcessorOf(step).Set(Called.Charge, OneOf(step), step.Fault, TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Veil or Verb.Lie:
                Pretend(step);
                break;
            case Verb.Arm:
                _armed[who] = step with { Who = who };
                break;
            case Verb.Freeze:
                instance.Actor.IsFrozen = true;
                break;
            case Verb.Continue:
                instance.Actor.IsFrozen = false;
                instance.DisturbedAt = Time.Now;
                break;
            case Verb.Kill:
                instance.Kill();
                break;
            case Verb.Start when instance.Actor.IsDead:
                _ended.Add(instance);
                _instances[who] = new SimulatedInstance(this, who, _database);
                break;
            case Verb.Stop when !instance.IsStopping && !instance.Actor.IsDead:
                instance.Stop();
                break;
            case Verb.Cut:
                instance.Cut();
                instance.DisturbedAt = Time.Now;
                break;
            case Verb.Stall:
                instance.IsStalled = true;
                Network.After(TimeSpan.FromSeconds(step.Seconds), () => Resume(instance));
                break;
            case Verb.Hold:
                _holdFor = TimeSpan.FromSeconds(step.Seconds);
                break;
            case Verb.Delay when _delayed is null:
                _delayFor = TimeSpan.FromSeconds(step.Seconds);
                break;
            case Verb.Lose:
                _loses = true;
                break;
            case Verb.Crash:
                Crash();
                break;
            case Verb.Skew:
                instance.Actor.Skew = TimeSpan.FromSeconds(step.Seconds);
                _wasAhead |= step.Seconds > 0;
                break;
            case Verb.Jump:
                _database.Skew += TimeSpan.FromSeconds(step.Seconds);
                _jumpedAt = Time.Now;
                break;
            // Old payments are deleted, and a reconciliation does not find them.
            case Verb.Age when !_hasLost && !_loses:
                Time.Aged += TimeSpan.FromHours(26);
                _jumpedAt = Time.Now;
                break;
        }
    }

    // The instance that a fault of a processor is for; null is all.
    private int? OneOf(Step step) => step.Who < 10 ? null : ((step.Who / 10) - 1) % _instances.Length;

    private void Pretend(Step step)
    {
        var (processor, who) = (ProcessorOf(step), OneOf(step));
        var called = step.Verb == Verb.Veil ? Called.LookUp : Called.Health;
        processor.Set(called, who, step.Fault, TimeSpan.FromSeconds(4));
        Network.After(
            TimeSpan.FromSeconds(step.Seconds), () => processor.Set(called, who, Fault.None, TimeSpan.Zero));
    }

    /// <summary>An instance, or all of them, are not as they would be by themselves.</summary>
    private void Disturb(SimulatedInstance? one)
    {
        _disturbedAt = Time.Now;
        foreach (var instance in one is null ? Living() : [one])
            instance.ShakenAt = Time.Now;
    }

    private void Crash()
    {
        _crashedAt = Time.Now;
        foreach (var one in Living())
        {
            one.Cut();
            one.DisturbedAt = Time.Now;
        }

        _held?.End(commits: false);
        EndDelay(isLost: true);
        if (!Knobs.IsDurable)
            LoseTables();
    }

    // Unlogged tables do not outlast a crash, and this profile promises nothing of what was in them.
    private void LoseTables()
    {
        foreach (var row in Rows().FindAll(row => row.IsStored))
        {
            var payment = _payments[row.Id];
            (payment.PurgedAt, payment.IsCrashed) = (Time.Now, true);
        }

        _settled.Clear();
        _told.Clear();
        foreach (var processor in Processors)
            processor.Told.Clear();
        _database.LoseUnlogged();
        _emptied++;
        _removed.Clear();
    }

    private void Resume(SimulatedInstance instance)
    {
        instance.IsStalled = false;
        instance.DisturbedAt = Time.Now;
        Disturb(instance);
    }

    // Something checks the ledger at any time.
    private void Advance(TimeSpan by)
    {
        Run();
        var until = Time.Now + by;
        while (Time.Next(until) is { } timer)
        {
            timer.Owner.Continuations.Run(timer.Fire);
            Run();
            if (Time.Now < _nextCheck)
                continue;

            _nextCheck = Time.Now + TimeSpan.FromSeconds(_checks.Next(1, 6));
            Check();
            if (Living().FirstOrDefault(one => !one.IsStopping) is { } asked && _checks.Next(6) == 0)
                Call(Verb.Summarise, asked);
        }
    }

    /// <summary>Runs all that can go on without a timer.</summary>
    private void Run()
    {
        for (var steps = 0; ; steps++)
        {
            _pool.AwaitStillness(_unnoticed);
            if (_violation is not null || steps > StepsMax)
                throw new ViolationException(_violation ?? "it does not come to rest", _trace);

            var ready = Living().Where(one => !one.Actor.IsFrozen && !one.Actor.Continuations.IsEmpty).ToList();
            if (!Network.Continuations.IsEmpty)
                Network.Continuations.RunNext(_random);
            else if (ready.Count > 0)
                ready[_random.Next(ready.Count)].Actor.Continuations.RunNext(_random);
            else if (!Living().Aggregate(false, (any, one) => any | one.ReadLinks()) && !ExecuteNext())
                return;
        }
    }

    private IEnumerable<SimulatedInstance> Living() => _instances.Where(one => !one.Actor.IsDead);

    // As operators do who see parked payments, or know that outcomes were lost.
    private void Operate()
    {
        var verb = _hasLost && _random.Next(2) == 0 ? Verb.Reconcile : Verb.Replay;
        if (_random.Next(5) == 0)
            Do(new Step(verb, Living().First(one => !one.IsStopping).Who));
    }

    private void Heal()
    {
        Trace("   heals");
        Array.Clear(_armed);
        _loses = false;
        foreach (var processor in Processors)
            processor.Heal();

        // One processor may be out of order for good, where no payment can be in doubt.
        var isAway = !_hasLost && Processors.Length > 1 && _random.Next(3) == 0 && Unsettled().Count == 0;
        if (isAway)
            Processors[0].Set(Called.Charge, null, Fault.Fails, TimeSpan.Zero);

        foreach (var instance in Living().ToList())
        {
            Do(new Step(Verb.Continue, instance.Who));
            Resume(instance);
        }

        if (!Living().Any(one => !one.IsStopping))
            Do(new Step(Verb.Start, 0));
        if (isAway)
            PayAtEach();
        var paysOn = _random.Next(2) == 0;
        var owners = Living().Select(one => one.Epoch).ToList();
        var (until, polledSince) = (Time.Now + HealedWithin, _jumpedAt);
        while (Unsettled().Count > 0 || Unanswered().Count > 0 || _held is not null || _delayed is not null
               || Processors.Any(one => one.InFlight > 0 || (Knobs.PollsHealth && one.PolledAt < polledSince)))
        {
            // The clock of the database has perhaps jumped a moment ago: then a lease is lost, and what its owner had
            // is in doubt at the processor that is away, which alone can end that.
            if (isAway && !Living().Select(one => one.Epoch).SequenceEqual(owners))
            {
                Trace("   is back");
                (isAway, until) = (false, Time.Now + HealedWithin);
                Processors[0].Heal();
            }

            if (Time.Now > until)
                throw new ViolationException(
                    $"not settled or answered, charged again and again, or health not polled, {HealedWithin} after the "
                    + "last fault: " + string.Join(", ", Unsettled().Concat(Unanswered()).Select(Name)),
                    _trace);

            // Whatever stopped has ended by then.
            if (Living().All(one => one.IsStopping))
                Do(new Step(Verb.Start, 0));
            OperateAndPay(paysOn, isLong: until - Time.Now < HealedWithin / 2);
            Advance(TimeSpan.FromSeconds(1));
        }

        Advance(TimeSpan.FromSeconds(1));
        CheckHealed();
        for (var waited = TimeSpan.Zero; Remembering() is { } one; waited += TimeSpan.FromSeconds(1))
        {
            if (waited > ForgottenWithin)
                throw new ViolationException($"all is settled, and {one}", _trace);
            Advance(TimeSpan.FromSeconds(1));
        }
    }
}

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// Instances, processors and a database on one clock. One thread does everything: it fires timers, runs continuations
/// and executes statements one by one, each chosen by the seed among those that are ready.
/// </summary>
internal sealed partial class SimulatedCluster : IDisposable
{
    private const int StepsMax = 300_000;

    private static readonly TimeSpan HealedWithin = TimeSpan.FromSeconds(90);

    private readonly SimulatedDatabase _database;
    private readonly Random _random;
    private readonly List<string> _trace = [];
    private readonly DirectoryInfo _sockets = Directory.CreateTempSubdirectory("sim");
    private readonly SimulatedInstance[] _instances;
    private readonly List<SimulatedInstance> _ended = [];
    private readonly Step?[] _armed;
    private readonly List<DatabaseLink> _delivered = [];
    private TimeSpan _jumpedAt = -LeaseEnded;
    private DatabaseLink? _held, _delayed;
    private TimeSpan _holdFor, _delayFor;
    private bool _wasAhead;
    private bool _loses, _hasLost;
    private string? _violation;
    private int _links;

    public SimulatedCluster(SimulatedDatabase database, int seed, int instances)
    {
        (_database, Seed, _random) = (database, seed, new Random(seed));
        (_instances, _armed) = (new SimulatedInstance[instances], new Step?[instances]);
        Time = new SimulatedTime(_random);
        Network = new Actor(Time);
        // Every third schedule has three.
        Processors = new[] { Support.Known.Default, Support.Known.Fallback, Support.Known.Third }
            .Take(seed % 3 == 2 ? 3 : 2).Select(processor => new FaultyProcessor(this, processor)).ToArray();
        database.Begin(Time);
        for (var who = 0; who < instances; who++)
            _instances[who] = new SimulatedInstance(this, who, database);
        Advance(TimeSpan.FromSeconds(0.1));
    }

    public int Seed { get; }

    /// <summary>Instances do not in every schedule, because that is half of their statements.</summary>
    public bool PollsHealth => Seed % 3 == 0;

    public SimulatedTime Time { get; }

    /// <summary>What is nobody's: processors, and connections to them.</summary>
    public Actor Network { get; }

    public FaultyProcessor[] Processors { get; }

    private FaultyProcessor ProcessorOf(Step step) => Processors[Math.Min(step.Who, Processors.Length) - 1];

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

    public DatabaseLink Link(Socket client) => new(client, _database, ++_links);

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
    public void Reach(SimulatedInstance instance, Point point)
    {
        if (_armed[instance.Who] is not { } armed || armed.Point != point || _instances[instance.Who] != instance)
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
        switch (step.Verb)
        {
            case <= Verb.Reconcile:
                Call(step.Verb, instance);
                break;
            case Verb.Wait:
                Advance(TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Break:
                ProcessorOf(step).Set(step.Fault, TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Silence:
                var silent = ProcessorOf(step);
                silent.IsSilent = true;
                Network.After(TimeSpan.FromSeconds(step.Seconds), () => silent.IsSilent = false);
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

    // Instances store again what they have in memory. The rest is lost, because unlogged tables do not outlast a crash.
    private void Crash()
    {
        _remembered.Clear();
        _crashedAt = Time.Now;
        foreach (var one in Living())
        {
            one.Cut();
            one.DisturbedAt = Time.Now;
        }

        _held?.End(commits: false);
        EndDelay(isLost: true);
        var rows = Rows().FindAll(row => row.IsStored);
        var stored = rows.ConvertAll(row => row.Id);
        foreach (var one in Living().Where(one => !one.Actor.IsFrozen && !one.IsStalled && !one.IsStopping))
            _remembered.AddRange(one.Part<UnsettledPayments>().Snapshot()
                .Where(payment => payment.Epoch == one.Part<Lease>().Epoch && stored.Contains(payment.Id))
                .Select(payment => (one, payment)));
        foreach (var row in rows)
        {
            var payment = _payments[row.Id];
            (payment.PurgedAt, payment.IsOld, payment.IsCrashed) = (Time.Now, true, true);
            payment.AcceptedAt = row.AcceptedAt;
        }

        _settled.Clear();
        _database.Execute("TRUNCATE payments, settlements, settlement_totals, payment_events, doubts, ledger_intact");
        _emptied++;
        _removed.Clear();
    }

    private void Resume(SimulatedInstance instance)
    {
        instance.IsStalled = false;
        instance.DisturbedAt = Time.Now;
    }

    private void Advance(TimeSpan by)
    {
        Run();
        var until = Time.Now + by;
        while (Time.Next(until) is { } timer)
        {
            timer.Owner.Continuations.Run(timer.Fire);
            Run();
        }
    }

    /// <summary>Runs all that can go on without a timer.</summary>
    private void Run()
    {
        for (var steps = 0; ; steps++)
        {
            Stillness.Await(_delivered);
            if (_violation is not null || steps > StepsMax)
                throw new ViolationException(_violation ?? "it does not come to rest", _trace);

            var ready = Living().Where(one => !one.Actor.IsFrozen && !one.Actor.Continuations.IsEmpty).ToList();
            if (!Network.Continuations.IsEmpty)
                Network.Continuations.RunNext();
            else if (ready.Count > 0)
                ready[_random.Next(ready.Count)].Actor.Continuations.RunNext();
            else if (!Living().Aggregate(false, (any, one) => any | one.ReadLinks()) && !ExecuteNext())
                return;
        }
    }

    private IEnumerable<SimulatedInstance> Living() => _instances.Where(one => !one.Actor.IsDead);

    private bool ExecuteNext()
    {
        var waiting = Living().Where(one => !one.IsStalled)
            .SelectMany(one => one.Links.Select(link => (Of: one, Link: link)))
            .Where(one => one.Link is { IsWaiting: true, IsSlow: false })
            .OrderBy(one => one.Of.Who).ThenBy(one => one.Link.Sql).ThenBy(one => one.Link.Number).ToList();
        if (waiting.Count == 0)
            return false;

        var (instance, link) = waiting[_random.Next(waiting.Count)];
        var (before, after) = PointsOf(link.Sql);
        if (before is { } reached)
            Reach(instance, reached);
        if (!link.IsClosed && !link.WasSlow && IsSlow())
        {
            link.WasSlow = link.IsSlow = true;
            Network.After(TimeSpan.FromMilliseconds(_random.Next(1, 200)), () => link.IsSlow = false);
            return true;
        }

        // It was killed or cut off; what it had sent may be executed all the same.
        if (link.IsClosed)
            return true;

        if (_delayFor > TimeSpan.Zero)
        {
            (_delayed, link.IsSlow, link.WasSlow, link.IsDelayed) = (link, true, true, true);
            Network.After(_delayFor, () => EndDelay(isLost: false, link));
            // Npgsql gives up by real time, which stands still here; a batch does so after Command Timeout.
            Network.After(TimeSpan.FromSeconds(_random.Next(2) == 0 ? 2 : 60), link.DisposeIfDelayed);
            // The rest of its turn waits for this statement, the look for a purge too.
            instance.DisturbedAt = Time.Now + _delayFor;
            _delayFor = TimeSpan.Zero;
            return true;
        }

        if (_holdFor > TimeSpan.Zero && before == Point.Inserts && _held is null)
        {
            var held = _held = link;
            link.Execute(commits: false);
            if (_random.Next(2) == 0)
                link.Dispose();
            Network.After(_holdFor, () => Commit(held));
            _holdFor = TimeSpan.Zero;
            return true;
        }

        var isPurge = link.Sql.Contains("TRUNCATE", StringComparison.Ordinal);
        var removes = isPurge || link.Sql.Contains("remove_old_payments", StringComparison.Ordinal);
        var rows = removes ? Rows() : [];
        // A reconciliation begins at the oldest acceptance or at a crash. A charge may have an earlier time after a
        // clock was ahead, or when a crash came meanwhile.
        var isLost = _loses && before == Point.Records && !_wasAhead && _crashedAt == TimeSpan.Zero;
        link.Execute(commits: !isLost);
        if (isLost)
        {
            link.End(commits: false);
            (_loses, _hasLost) = (false, true);
        }

        if (removes)
            OnRemoved(rows, isPurge);
        if (after is { } done)
            Reach(instance, done);
        Deliver(link);
        return true;
    }

    private void Commit(DatabaseLink held)
    {
        held.End();
        Deliver(held);
        _held = null;
    }

    private void EndDelay(bool isLost, DatabaseLink? link = null)
    {
        if (_delayed is null || (link ?? _delayed) != _delayed)
            return;

        _delayed.EndDelay(isLost);
        _delayed = null;
    }

    private void Deliver(DatabaseLink link)
    {
        link.Deliver();
        if (!link.IsClosed)
            _delivered.Add(link);
    }

    internal static (Point? Before, Point? After) PointsOf(string sql) =>
        sql.StartsWith("INSERT INTO payments", StringComparison.Ordinal) ? (Point.Inserts, Point.Inserted)
        : sql.StartsWith("WITH renewed", StringComparison.Ordinal) ? (Point.Renews, Point.Renewed)
        : sql.StartsWith("WITH locked_first AS (SELECT 1 FROM payments), known", StringComparison.Ordinal)
            ? (Point.Records, Point.Recorded)
        : sql.StartsWith("WITH claim", StringComparison.Ordinal) ? (Point.Adopts, Point.Adopted)
        : (null, null);

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
        {
            processor.IsSilent = false;
            processor.Set(Fault.None, TimeSpan.Zero);
        }

        // One processor may be out of order for good.
        if (!_hasLost && _random.Next(3) == 0)
            Processors[0].Set(_random.Next(2) == 0 ? Fault.Fails : Fault.Garbles, TimeSpan.Zero);

        foreach (var instance in Living().ToList())
        {
            Do(new Step(Verb.Continue, instance.Who));
            Resume(instance);
        }

        if (!Living().Any(one => !one.IsStopping))
            Do(new Step(Verb.Start, 0));
        var (until, polledSince) = (Time.Now + HealedWithin, _jumpedAt);
        while (Unsettled().Count > 0 || _held is not null || _delayed is not null
               || Processors.Any(one => one.InFlight > 0 || (PollsHealth && one.PolledAt < polledSince)))
        {
            if (Time.Now > until)
                throw new ViolationException(
                    $"not settled, charged again and again, or health not polled, {HealedWithin} after the last fault: "
                    + string.Join(", ", Unsettled().Select(Name)),
                    _trace);

            // Whatever stopped has ended by then.
            if (Living().All(one => one.IsStopping))
                Do(new Step(Verb.Start, 0));
            Operate();
            Advance(TimeSpan.FromSeconds(1));
        }

        Advance(TimeSpan.FromSeconds(1));
        CheckHealed();
    }
}

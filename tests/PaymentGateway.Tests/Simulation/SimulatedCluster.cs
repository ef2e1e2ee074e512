using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// Instances, processors and a database on one clock. One thread does everything: it fires timers, runs continuations
/// and executes statements one by one, each chosen by the seed among those that are ready.
/// </summary>
internal sealed class SimulatedCluster : IDisposable
{
    private const int InstancesMax = 2;
    private const int StepsMax = 300_000;

    // By then every renewal has noticed a purge, and every lease has ended.
    private static readonly TimeSpan PurgeNoticed = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan LeaseEnded = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan HealedWithin = TimeSpan.FromMinutes(3);

    private readonly SimulatedDatabase _database;
    private readonly Random _random;
    private readonly List<string> _trace = [];
    private readonly DirectoryInfo _sockets = Directory.CreateTempSubdirectory("sim");
    private readonly SimulatedInstance[] _instances = new SimulatedInstance[InstancesMax];
    private readonly List<SimulatedInstance> _ended = [];
    private readonly Step?[] _armed = new Step?[InstancesMax];
    private readonly Dictionary<Guid, Known> _payments = [];
    private readonly List<DatabaseLink> _delivered = [];
    private TimeSpan _jumpedAt = -LeaseEnded;
    private DatabaseLink? _held;
    private TimeSpan _holdFor;
    private string? _violation;
    private int _links;

    public SimulatedCluster(SimulatedDatabase database, int seed)
    {
        (_database, Seed, _random) = (database, seed, new Random(seed));
        Time = new SimulatedTime(_random);
        Network = new Actor(Time);
        Processors = [new FaultyProcessor(this, Processor.Default), new FaultyProcessor(this, Processor.Fallback)];
        database.Begin(Time);
        for (var who = 0; who < InstancesMax; who++)
            _instances[who] = new SimulatedInstance(this, who, database);
        Advance(TimeSpan.FromSeconds(0.1));
    }

    public int Seed { get; }

    public SimulatedTime Time { get; }

    /// <summary>What is nobody's: processors, and connections to them.</summary>
    public Actor Network { get; }

    public FaultyProcessor[] Processors { get; }

    public string Socket => Path.Combine(_sockets.FullName, "api.sock");

    /// <summary>Plays the steps, ends all faults, and compares the ledgers.</summary>
    /// <exception cref="ViolationException">An invariant is broken.</exception>
    public void Play(IEnumerable<Step> steps)
    {
        foreach (var step in steps)
        {
            Do(step);
            Run();
            var t0 = Stopwatch.GetTimestamp();
            Check();
            Checked += Stopwatch.GetElapsedTime(t0);
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

    /// <summary>The first byte of a charge leaves.</summary>
    public void OnSent(SimulatedInstance instance, Guid id, Processor processor)
    {
        Trace($"{instance.Who}: charges {Name(id)} at {processor}");
        var owner = _database.Read(
            $"SELECT owner_epoch FROM payments WHERE correlation_id = '{id}'", row => row.GetInt32(0));
        var epoch = instance.Part<Lease>().Epoch;
        if (owner is [var owned] && owned != epoch && Time.Now - _jumpedAt > LeaseEnded)
            Violate($"{instance.Who} charges {Name(id)} in epoch {epoch}, and {owned} owns it");
        var since = _payments[id].PurgedAt is { } purgedAt && purgedAt > instance.DisturbedAt
            ? purgedAt
            : instance.DisturbedAt;
        if (owner.Count == 0 && _payments[id].PurgedAt is not null && Time.Now - since > PurgeNoticed)
            Violate($"{instance.Who} charges {Name(id)}, which was purged");
    }

    public void OnStored(Guid id, Processor processor)
    {
        Trace($"{processor} stores {Name(id)}");
        if (Processors.All(one => one.Stored.ContainsKey(id)))
            Violate($"{Name(id)} is charged by both processors");
    }

    public static TimeSpan Executed, Checked; public static string Stats = ""; public static string LastTrace = ""; int _statements, _continuations, _timersFired;

    public void Dispose()
    {
        LastTrace = string.Join('\n', _trace);
        Stats = $"{_statements} statements {_continuations} continuations {_timersFired} timers {Time.Now.TotalSeconds:0} s, still {Stillness.Waited.TotalMilliseconds:0} ms in {Stillness.Calls}, executing {Executed.TotalMilliseconds:0}, checking {Checked.TotalMilliseconds:0}"; Executed = Checked = default; Stillness.Waited = default; Stillness.Calls = 0;
        foreach (var instance in _instances.Concat(_ended))
            instance.Dispose();
        _sockets.Delete(recursive: true);
    }

    private void Do(Step step)
    {
        Trace($"   {step}");
        var instance = _instances[Math.Min(step.Who, InstancesMax - 1)];
        switch (step.Verb)
        {
            case Verb.Pay:
                var id = NewId();
                _payments.Add(id, new Known(_payments.Count + 1, _random.Next(1, 100_000)));
                Ask(instance, id, _payments[id].Cents);
                break;
            case Verb.Repeat or Verb.Conflict:
                var (again, known) = _payments.ElementAt(_random.Next(_payments.Count));
                if (known.PurgedAt is null)
                    Ask(instance, again, known.Cents + (step.Verb == Verb.Conflict ? 1 : 0));
                break;
            case Verb.Wait:
                Advance(TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Break:
                Processors[step.Who - 1].Set(step.Fault, TimeSpan.FromSeconds(step.Seconds));
                break;
            case Verb.Silence:
                var silent = Processors[step.Who - 1];
                silent.IsSilent = true;
                Network.After(TimeSpan.FromSeconds(step.Seconds), () => silent.IsSilent = false);
                break;
            case Verb.Arm:
                _armed[step.Who] = step;
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
                _instances[step.Who] = new SimulatedInstance(this, step.Who, _database);
                break;
            case Verb.Stop when !instance.IsStopping && !instance.Actor.IsDead:
                instance.Stop();
                break;
            case Verb.Purge:
                instance.Actor.Continuations.Post(_ => _ = PurgeAsync(instance), null);
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
            case Verb.Skew:
                instance.Actor.Skew = TimeSpan.FromSeconds(step.Seconds);
                break;
            case Verb.Jump:
                _database.Skew += TimeSpan.FromSeconds(step.Seconds);
                _jumpedAt = Time.Now;
                break;
        }
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
            _timersFired++;
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

            _continuations++;
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
            .SelectMany(one => one.Links.Where(link => link is { IsWaiting: true, IsSlow: false }).Select(link => (Of: one, Link: link)))
            .OrderBy(one => one.Of.Who).ThenBy(one => one.Link.Sql).ThenBy(one => one.Link.Number).ToList();
        if (waiting.Count == 0)
            return false;

        _statements++;
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

        if (_holdFor > TimeSpan.Zero && before == Point.Inserts && _held is null)
        {
            var held = _held = link;
            link.Execute(commits: false);
            Network.After(_holdFor, () => Commit(held));
            _holdFor = TimeSpan.Zero;
            return true;
        }

        var purged = link.Sql.Contains("TRUNCATE", StringComparison.Ordinal) ? StoredIds() : null;
        var t0 = Stopwatch.GetTimestamp();
        link.Execute();
        Executed += Stopwatch.GetElapsedTime(t0);
        if (purged is not null && StoredIds().Count == 0)
            purged.ForEach(id => _payments[id].PurgedAt = Time.Now);
        if (after is { } done)
            Reach(instance, done);
        Deliver(link);
        return true;
    }

    private void Commit(DatabaseLink held)
    {
        held.CommitNow();
        Deliver(held);
        _held = null;
    }

    private void Deliver(DatabaseLink link)
    {
        link.Deliver();
        if (!link.IsClosed)
            _delivered.Add(link);
    }

    private static (Point? Before, Point? After) PointsOf(string sql) =>
        sql.StartsWith("INSERT INTO payments", StringComparison.Ordinal) ? (Point.Inserts, Point.Inserted)
        : sql.StartsWith("WITH renewed", StringComparison.Ordinal) ? (Point.Renews, Point.Renewed)
        : sql.StartsWith("WITH locked_first", StringComparison.Ordinal) ? (Point.Records, Point.Recorded)
        : sql.StartsWith("WITH claim", StringComparison.Ordinal) ? (Point.Adopts, Point.Adopted)
        : (null, null);

    // A request to a frozen instance lies in its socket.
    private void Ask(SimulatedInstance instance, Guid id, long cents)
    {
        if (!instance.IsStopping && !instance.Actor.IsDead)
            instance.Actor.Continuations.Post(_ => _ = AskAsync(instance, id, cents), null);
    }

    private async Task AskAsync(SimulatedInstance instance, Guid id, long cents)
    {
        var result = await instance.Part<Intake>().AcceptAsync(id, cents);
        var payment = _payments[id];
        Trace($"{instance.Who}: {Name(id)} of {cents} is {result}");
        if (result == AcceptResult.Conflict && payment is { AcknowledgedCents: { } one, PurgedAt: null } && one == cents)
            Violate($"{Name(id)} was acknowledged, and is a conflict");
        if (result != AcceptResult.Accepted)
            return;

        if (payment is { AcknowledgedCents: { } other, PurgedAt: null } && other != cents)
            Violate($"{Name(id)} is acknowledged with two amounts");
        payment.AcknowledgedCents = cents;
        if (payment.PurgedAt is null && !StoredIds().Contains(id))
            Violate($"{Name(id)} is acknowledged, and not stored");
    }

    // As AuditEndpoints does.
    private static async Task PurgeAsync(SimulatedInstance instance)
    {
        var lease = instance.Part<Lease>();
        if (!lease.IsHeld)
            return;

        try
        {
            await instance.Part<LedgerStateStore>().PurgeAsync();
            lease.CheckSoon.Set();
        }
        catch (Exception failed) when (failed is NpgsqlException or TimeoutException)
        {
            instance.Trace($"not purged: {failed.Message}");
        }
    }

    private List<Guid> StoredIds() => _database.Read("SELECT correlation_id FROM payments", row => row.GetGuid(0));

    /// <summary>The summary never exceeds the processors, and its totals are its settlements'.</summary>
    private void Check()
    {
        var settled = _database.Read(
            """
            SELECT s.correlation_id, s.processor, s.amount_cents, s.requested_at, p.correlation_id IS NULL
            FROM settlements s LEFT JOIN payments p USING (accepted_at, correlation_id)
            """,
            row => (Id: row.GetGuid(0), At: row.GetInt16(1), Cents: row.GetInt64(2), RequestedAt: row.GetDateTime(3),
                IsOrphan: row.GetBoolean(4)));
        foreach (var one in settled)
        {
            if (!Processors[one.At - 1].Stored.TryGetValue(one.Id, out var stored)
                || stored != (one.Cents, one.RequestedAt))
                Violate($"{Name(one.Id)} is settled, and its processor has {stored}");
            if (one.IsOrphan)
                Violate($"{Name(one.Id)} is settled, and was purged");
        }

        var totals = _database.Read(
            """
            SELECT processor, sum(requests)::bigint, sum(amount_cents)::bigint FROM settlement_totals
            WHERE width_seconds = 5 GROUP BY 1
            """,
            row => (row.GetInt16(0), row.GetInt64(1), row.GetInt64(2)));
        var sums = settled.GroupBy(one => one.At).Select(of => (of.Key, (long)of.Count(), of.Sum(one => one.Cents)));
        if (!totals.Order().SequenceEqual(sums.Order()))
            Violate("the totals are not those of the settlements");
        if (_violation is not null)
            throw new ViolationException(_violation, _trace);
    }

    private void Heal()
    {
        Trace("   heals");
        Array.Clear(_armed);
        foreach (var processor in Processors)
            (processor.IsSilent, _) = (false, 0);
        foreach (var processor in Processors)
            processor.Set(Fault.None, TimeSpan.Zero);
        foreach (var instance in Living().ToList())
        {
            Do(new Step(Verb.Continue, instance.Who));
            Resume(instance);
        }

        if (!Living().Any(one => !one.IsStopping))
            Do(new Step(Verb.Start, 0));
        var until = Time.Now + HealedWithin;
        while (Unsettled().Count > 0 || Processors.Any(one => one.InFlight > 0) || _held is not null)
        {
            if (Time.Now > until)
                throw new ViolationException(
                    $"{string.Join(", ", Unsettled().Select(Name))} not settled {HealedWithin} after the last fault",
                    _trace);

            // Whatever stopped has ended by then.
            if (Living().All(one => one.IsStopping))
                Do(new Step(Verb.Start, 0));
            Advance(TimeSpan.FromSeconds(1));
        }

        Advance(TimeSpan.FromSeconds(1));
        Check();
        var stored = StoredIds();
        foreach (var (id, payment) in _payments)
        {
            if (payment is { AcknowledgedCents: not null, PurgedAt: null } && !stored.Contains(id))
                throw new ViolationException($"{Name(id)} was acknowledged, and is lost", _trace);
            if (payment.PurgedAt is null && !stored.Contains(id)
                && Processors.Any(one => one.Stored.ContainsKey(id)))
                throw new ViolationException($"{Name(id)} was charged, and is nowhere", _trace);
        }
    }

    private List<Guid> Unsettled() => _database.Read(
        "SELECT correlation_id FROM payments LEFT JOIN settlements s USING (accepted_at, correlation_id) "
        + "WHERE s.processor IS NULL",
        row => row.GetGuid(0));

    private Guid NewId()
    {
        var bytes = new byte[16];
        _random.NextBytes(bytes);
        return new Guid(bytes);
    }

    private string Name(Guid id) => $"payment {_payments[id].Number}";

    private void Violate(string what)
    {
        Trace($"VIOLATION: {what}");
        _violation ??= what;
    }

    /// <summary>What clients know of a payment.</summary>
    private sealed class Known(int number, long cents)
    {
        public int Number => number;

        public long Cents => cents;

        public long? AcknowledgedCents { get; set; }

        public TimeSpan? PurgedAt { get; set; }
    }
}

/// <summary>An invariant was broken by a schedule.</summary>
internal sealed class ViolationException(string what, IEnumerable<string> trace) : Exception(what)
{
    public string Trace { get; } = string.Join('\n', trace);
}

/// <summary>Waits until nothing of the gateway runs in the thread pool.</summary>
internal static class Stillness
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);

    // The test's own runner blocks some.
    private static int _busyAlways = int.MaxValue;

    public static TimeSpan Waited; public static int Calls;

    /// <param name="delivered">Links with answers that their instances have perhaps not read; emptied.</param>
    public static void Await(List<DatabaseLink> delivered)
    {
        var since = Stopwatch.GetTimestamp();
        for (var spins = 0; ; spins++)
        {
            delivered.RemoveAll(link => !link.IsUnread);
            if (delivered.Count == 0)
            {
                ThreadPool.GetAvailableThreads(out var free, out _);
                ThreadPool.GetMaxThreads(out var all, out _);
                var busy = all - free;
                if (ThreadPool.PendingWorkItemCount == 0)
                {
                    _busyAlways = Math.Min(_busyAlways, busy);
                    if (busy <= _busyAlways)
                    {
                        Waited += Stopwatch.GetElapsedTime(since); Calls++;
                        return;
                    }
                    if (Stopwatch.GetElapsedTime(since) > Patience)
                        _busyAlways = busy;
                }
            }

            if (spins > 20)
                Thread.Yield();
        }
    }
}

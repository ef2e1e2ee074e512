namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// The time of a simulated cluster. Only the schedule moves it. Timers fire one by one, in the order of their times.
/// </summary>
internal sealed class SimulatedTime(Random random)
{
    // A minute before an hour ends, because totals and retention count by whole hours.
    public static readonly DateTime Start = new(2030, 1, 1, 0, 59, 0, DateTimeKind.Utc);

    private readonly object _gate = new();
    private readonly List<Timer> _timers = [];

    /// <summary>Since the start; goes on while an actor is frozen, and never jumps.</summary>
    public TimeSpan Now { get; private set; }

    /// <summary>So far all wall clocks have jumped together.</summary>
    public TimeSpan Aged { get; set; }

    /// <summary>The true time, UTC.</summary>
    public DateTime Wall => Start + Now + Aged;

    /// <summary>Moves the time to the next timer of an actor that is not frozen, and takes it.</summary>
    /// <returns>Null when none is due by then: then it is that time.</returns>
    public Timer? Next(TimeSpan until)
    {
        lock (_gate)
        {
            // Those that a freeze has held up are all due at once, and any may be first.
            var overdue = _timers.FindAll(timer => !timer.Owner.IsFrozen && timer.Due < Now);
            var next = overdue.Count > 0
                ? overdue[random.Next(overdue.Count)]
                : _timers.Where(timer => !timer.Owner.IsFrozen && timer.Due <= until).MinBy(timer => timer.Due);
            if ((next?.Due ?? until) is var due && due > Now)
                Now = due;
            if (next is not null)
                _timers.Remove(next);
            return next;
        }
    }

    public void Forget(Actor owner)
    {
        lock (_gate)
            _timers.RemoveAll(timer => timer.Owner == owner);
    }

    private void Set(Timer timer, TimeSpan dueTime)
    {
        lock (_gate)
        {
            _timers.Remove(timer);
            if (dueTime == Timeout.InfiniteTimeSpan || timer.Owner.IsDead)
                return;

            timer.Due = Now + dueTime;
            _timers.Add(timer);
        }
    }

    /// <summary>A timer of an actor; none in the gateway is periodic.</summary>
    internal sealed class Timer(SimulatedTime time, Actor owner, TimerCallback callback, object? state) : ITimer
    {
        public Actor Owner => owner;

        public TimeSpan Due { get; set; }

        public void Fire() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            time.Set(this, dueTime);
            return true;
        }

        public void Dispose() => time.Set(this, Timeout.InfiniteTimeSpan);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}

/// <summary>
/// The clock of a process. A frozen process runs no timer and no continuation, and does so at once when it continues.
/// </summary>
internal sealed class Actor(SimulatedTime time) : TimeProvider
{
    public bool IsFrozen { get; set; }

    public bool IsDead { get; private set; }

    /// <summary>The wall clock's distance from the true time.</summary>
    public TimeSpan Skew { get; set; }

    public Continuations Continuations { get; } = new();

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => time.Now.Ticks;

    public override DateTimeOffset GetUtcNow() => time.Wall + Skew;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new SimulatedTime.Timer(time, this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Does something at a later time.</summary>
    public void After(TimeSpan delay, Action action) =>
        CreateTimer(_ => action(), null, delay, Timeout.InfiniteTimeSpan);

    /// <summary>Ends without a word.</summary>
    public void Die()
    {
        IsDead = true;
        time.Forget(this);
        Continuations.Clear();
    }
}

/// <summary>Continuations of the gateway's code in one process, which the schedule runs one by one.</summary>
internal sealed class Continuations : SynchronizationContext
{
    private readonly List<(SendOrPostCallback Callback, object? State)> _posted = [];

    public bool IsEmpty
    {
        get
        {
            lock (_posted)
                return _posted.Count == 0;
        }
    }

    public override void Post(SendOrPostCallback d, object? state)
    {
        lock (_posted)
            _posted.Add((d, state));
    }

    public override void Send(SendOrPostCallback d, object? state) => throw new NotSupportedException();

    public override SynchronizationContext CreateCopy() => this;

    public void Clear()
    {
        lock (_posted)
            _posted.Clear();
    }

    /// <summary>Any of them, as in a pool of threads.</summary>
    public void RunNext(Random random)
    {
        (SendOrPostCallback Callback, object? State) next;
        lock (_posted)
        {
            var at = random.Next(_posted.Count);
            next = _posted[at];
            _posted.RemoveAt(at);
        }

        Run(() => next.Callback(next.State));
    }

    /// <summary>Runs something as a part of the process.</summary>
    public void Run(Action action)
    {
        var outer = Current;
        SetSynchronizationContext(this);
        try
        {
            action();
        }
        finally
        {
            SetSynchronizationContext(outer);
        }
    }
}

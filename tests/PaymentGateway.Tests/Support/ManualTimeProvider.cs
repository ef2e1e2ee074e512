namespace PaymentGateway.Tests.Support;

/// <summary>A clock that stands still until a test advances it; any thread may read it and set timers by it.</summary>
public sealed class ManualTimeProvider(DateTimeOffset start) : TimeProvider
{
    private readonly object gate = new();
    private readonly List<ManualTimer> armed = [];
    private DateTimeOffset now = start;

    public ManualTimeProvider()
        : this(new DateTimeOffset(2025, 7, 15, 12, 0, 0, TimeSpan.Zero))
    {
    }

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    /// <summary>How many timers wait for the clock: a test waits for this before it advances.</summary>
    public int ArmedTimers
    {
        get
        {
            lock (gate)
                return armed.Count;
        }
    }

    public override DateTimeOffset GetUtcNow()
    {
        lock (gate)
            return now;
    }

    public override long GetTimestamp() => GetUtcNow().UtcTicks;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new ManualTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Fires what falls due on the way, in order, with the clock at the moment of each.</summary>
    public void Advance(TimeSpan time)
    {
        var end = GetUtcNow() + time;
        while (TakeDue(end) is { } timer)
            timer.Fire();
        lock (gate)
            now = end;
    }

    private ManualTimer? TakeDue(DateTimeOffset end)
    {
        lock (gate)
        {
            var next = armed.MinBy(timer => timer.Due);
            if (next is null || next.Due > end)
                return null;
            now = next.Due > now ? next.Due : now;
            if (next.Period > TimeSpan.Zero)
                next.Due += next.Period;
            else
                armed.Remove(next);
            return next;
        }
    }

    private void Arm(ManualTimer timer, TimeSpan dueTime, TimeSpan period)
    {
        lock (gate)
        {
            armed.Remove(timer);
            if (dueTime < TimeSpan.Zero)
                return;
            timer.Due = now + dueTime;
            timer.Period = period;
            armed.Add(timer);
        }
    }

    private sealed class ManualTimer(ManualTimeProvider clock, TimerCallback callback, object? state) : ITimer
    {
        public DateTimeOffset Due { get; set; }

        public TimeSpan Period { get; set; }

        public void Fire() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            clock.Arm(this, dueTime, period);
            return true;
        }

        public void Dispose() => clock.Arm(this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}

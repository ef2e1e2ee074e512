namespace PaymentGateway.Tests.Support;

/// <summary>The library's clock, which also says how many timers wait for it. Any thread may set them.</summary>
public sealed class WatchedClock : FakeTimeProvider
{
    private readonly ConcurrentDictionary<ITimer, DateTimeOffset> _wakeUps = new();

    /// <summary>The wall clock's distance from the monotonic one; it may jump, back too.</summary>
    public TimeSpan WallShift { get; set; }

    /// <summary>A test waits for this before it advances: the code must have begun to wait.</summary>
    /// <remarks>A periodic timer counts until it first fires; no code under test has one.</remarks>
    public int ArmedTimers => _wakeUps.Count(timer => timer.Value > base.GetUtcNow());

    public bool WakesWithin(TimeSpan time) =>
        _wakeUps.Any(timer => timer.Value > base.GetUtcNow() && timer.Value <= base.GetUtcNow() + time);

    public bool WakesIn(TimeSpan time) => _wakeUps.Any(timer => timer.Value == base.GetUtcNow() + time);

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + WallShift;

    /// <summary>The library takes the wall clock's.</summary>
    public override long GetTimestamp() => base.GetUtcNow().Ticks;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var wakeUp = WakeUp(dueTime);
        var timer = new WatchedTimer(this, base.CreateTimer(callback, state, dueTime, period));
        _wakeUps[timer] = wakeUp;
        return timer;
    }

    private DateTimeOffset WakeUp(TimeSpan dueTime) =>
        dueTime == Timeout.InfiniteTimeSpan ? DateTimeOffset.MinValue : base.GetUtcNow() + dueTime;

    private sealed class WatchedTimer(WatchedClock clock, ITimer timer) : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            var wakeUp = clock.WakeUp(dueTime);
            var changed = timer.Change(dueTime, period);
            clock._wakeUps[this] = wakeUp;
            return changed;
        }

        public void Dispose()
        {
            clock._wakeUps.TryRemove(this, out _);
            timer.Dispose();
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}

namespace PaymentGateway.Tests.Support;

/// <summary>
/// The system's clock, on which waits of one length end when a test says so: what it does meanwhile may take any time.
/// </summary>
internal sealed class HeldClock : TimeProvider
{
    private readonly List<ITimer> _held = [];
    private TimeSpan? _length;

    /// <summary>From now on no wait of this length ends.</summary>
    public void Hold(TimeSpan length)
    {
        lock (_held)
            _length = length;
    }

    /// <summary>Waits until such a wait has begun.</summary>
    public Task HoldsAsync() => Eventually.HoldsAsync(
        () =>
        {
            lock (_held)
                return _held.Count > 0;
        },
        $"something waits for {_length}");

    /// <summary>All such waits end now, and later ones in their time.</summary>
    public void LetGo()
    {
        lock (_held)
        {
            _length = null;
            foreach (var timer in _held)
                timer.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan);
            _held.Clear();
        }
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        lock (_held)
        {
            if (dueTime != _length)
                return base.CreateTimer(callback, state, dueTime, period);

            var timer = base.CreateTimer(callback, state, Timeout.InfiniteTimeSpan, period);
            _held.Add(timer);
            return timer;
        }
    }
}

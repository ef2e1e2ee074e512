namespace PaymentGateway.Benchmarks.Routing;

/// <summary>A clock that stands at the event that happens, so a run lasts as long as its events compute.</summary>
internal sealed class EventClock : TimeProvider
{
    private readonly PriorityQueue<Action, (TimeSpan At, long Order)> _events = new();
    private long _order;

    public TimeSpan Now { get; private set; }

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    // A timestamp of 0 means none in places.
    public override long GetTimestamp() => Now.Ticks + TimeSpan.TicksPerHour;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch + TimeSpan.FromHours(1) + Now;

    public void At(TimeSpan at, Action happens) => _events.Enqueue(happens, (at, _order++));

    public void RunUntil(TimeSpan end)
    {
        while (_events.TryDequeue(out var happens, out var key) && key.At <= end)
        {
            Now = key.At;
            happens();
        }
    }
}

namespace PaymentGateway.Tests.Support;

/// <summary>A wall clock that the test sets, back too, beside a monotonic one that only goes on.</summary>
public sealed class SteppedClock : TimeProvider
{
    public DateTimeOffset Now { get; set; } = new(2025, 7, 15, 12, 0, 0, TimeSpan.Zero);

    public TimeSpan Elapsed { get; set; }

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override DateTimeOffset GetUtcNow() => Now;

    public override long GetTimestamp() => TimeSpan.TicksPerHour + Elapsed.Ticks;
}

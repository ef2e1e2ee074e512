namespace PaymentGateway.Timing;

/// <summary>
/// Instants as processors and PostgreSQL keep them: UTC, whole microseconds. .NET counts in tenths of one, and
/// a ledger that keeps the seventh digit would not agree with the processors' (contract.md).
/// </summary>
internal static class Timestamps
{
    public static DateTime UtcMicroseconds(this TimeProvider clock) => Truncate(clock.GetUtcNow().UtcDateTime);

    /// <summary>A duration in the units of the monotonic timestamps.</summary>
    public static long TicksOf(this TimeProvider clock, TimeSpan duration) =>
        (long)(duration.TotalSeconds * clock.TimestampFrequency);

    public static DateTime Truncate(DateTime utc) =>
        new(utc.Ticks - utc.Ticks % TimeSpan.TicksPerMicrosecond, DateTimeKind.Utc);

    /// <summary>Up to the next whole microsecond, for the lower end of an inclusive window.</summary>
    public static DateTime RoundUp(DateTime utc)
    {
        var cut = Truncate(utc);
        return cut == utc ? cut : cut.AddTicks(TimeSpan.TicksPerMicrosecond);
    }
}

namespace PaymentGateway;

/// <summary>
/// Times in UTC, cut to whole microseconds as processors and PostgreSQL store them. With .NET's seventh digit the
/// ledger would differ from the processors' ledgers (contract.md).
/// </summary>
internal static class Timestamps
{
    private static readonly string[] Iso8601 =
    [
        "yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK", "yyyy-MM-dd'T'HH:mmK", "yyyy-MM-dd",
    ];

    /// <summary>Reads a parameter of a request: ISO 8601, before the year 9999; without a zone it is UTC.</summary>
    public static bool TryParse(string? text, out DateTime utc)
    {
        utc = default;
        // .NET accepts a point without digits after it.
        if (text?.IndexOf('.', StringComparison.Ordinal) is >= 0 and var point
            && (point + 1 == text.Length || !char.IsAsciiDigit(text[point + 1])))
            return false;

        // An unescaped + of a zone arrives as a space.
        var parsed = DateTimeOffset.TryParseExact(
            text?.Replace(' ', '+'), Iso8601, CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out var stamp);
        utc = stamp.UtcDateTime;
        return parsed && utc < new DateTime(9999, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    }

    public static DateTime UtcMicroseconds(this TimeProvider clock) => Truncate(clock.GetUtcNow().UtcDateTime);

    /// <summary>A duration in the units of the monotonic timestamps.</summary>
    public static long TicksOf(this TimeProvider clock, TimeSpan duration) =>
        (long)(duration.TotalSeconds * clock.TimestampFrequency);

    /// <summary>Whole microseconds since 1970.</summary>
    public static long ToMicroseconds(DateTime utc) => (utc - DateTime.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;

    /// <returns>Null outside the range of DateTime.</returns>
    public static DateTime? FromMicroseconds(long sinceEpoch) =>
        sinceEpoch >= ToMicroseconds(DateTime.MinValue) && sinceEpoch <= ToMicroseconds(DateTime.MaxValue)
            ? DateTime.UnixEpoch.AddTicks(sinceEpoch * TimeSpan.TicksPerMicrosecond)
            : null;

    public static DateTime Truncate(DateTime utc) =>
        new(utc.Ticks - utc.Ticks % TimeSpan.TicksPerMicrosecond, DateTimeKind.Utc);

    /// <summary>Up to the next whole microsecond, for the lower end of an inclusive window.</summary>
    public static DateTime RoundUp(DateTime utc) => Truncate(utc.AddTicks(TimeSpan.TicksPerMicrosecond - 1));
}

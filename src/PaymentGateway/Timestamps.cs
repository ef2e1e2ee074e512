namespace PaymentGateway;

/// <summary>
/// Times in UTC, cut to whole microseconds as processors and PostgreSQL store them. With .NET's seventh digit the
/// ledger would differ from the processors' ledgers (contract.md).
/// </summary>
internal static class Timestamps
{
    private const int MicrosecondDigits = 6;

    private static readonly string[] Iso8601 =
    [
        "yyyy-MM-dd'T'HH:mm:ss.FFFFFFK", "yyyy-MM-dd'T'HH:mmK", "yyyy-MM-dd'T'HH:mm:ss.FFFFFFzz",
        "yyyy-MM-dd'T'HH:mmzz", "yyyy-MM-dd",
    ];

    /// <summary>
    /// Reads ISO 8601 with any number of decimals, before the year 9999; without a zone it is UTC. Go and Java write
    /// nanoseconds.
    /// </summary>
    /// <param name="utc">Rounded down to the microsecond.</param>
    /// <param name="isWhole">False: the text was later than that.</param>
    public static bool TryParse(string? text, out DateTime utc, out bool isWhole)
    {
        (utc, isWhole) = (default, true);
        if (text?.IndexOf('.', StringComparison.Ordinal) is >= 0 and var point)
        {
            var rest = text.AsSpan(point + 1);
            var digits = rest.IndexOfAnyExceptInRange('0', '9') is >= 0 and var end ? end : rest.Length;
            // .NET accepts a point without digits after it.
            if (digits == 0)
                return false;

            if (digits > MicrosecondDigits)
            {
                isWhole = rest[MicrosecondDigits..digits].IndexOfAnyExcept('0') < 0;
                text = text.Remove(point + 1 + MicrosecondDigits, digits - MicrosecondDigits);
            }
        }

        // An unescaped + of a zone arrives as a space. RFC 3339 allows lower-case letters.
        var parsed = DateTimeOffset.TryParseExact(
            text?.Replace(' ', '+').ToUpperInvariant(), Iso8601, CultureInfo.InvariantCulture,
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
}

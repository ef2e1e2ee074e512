namespace PaymentGateway.Tests.Storage;

public sealed class SummaryArgsTests
{
    private const string Infinite = "infinite";

    // Buckets of 5 seconds from the first to before the second, of an hour to before the third, of 5 seconds again.
    [Theory]
    [InlineData("09:59:58", "13:00:02", "10:00:00|10:00:00|13:00:00|13:00:00")]
    [InlineData("10:00:00.000001", "13:59:59", "10:00:05|11:00:00|13:00:00|13:59:55")]
    [InlineData("10:00:01", "11:00:00", "10:00:05|11:00:00|11:00:00|11:00:00")]
    [InlineData("10:00:00", "11:00:00", "10:00:00|10:00:00|11:00:00|11:00:00")]
    [InlineData("10:00:05", "11:59:59", "10:00:05|11:59:55|11:59:55|11:59:55")]
    [InlineData(null, "12:30:07", "infinite|infinite|12:00:00|12:30:05")]
    [InlineData("12:30:07", null, "12:30:10|13:00:00|infinite|infinite")]
    public void Whole_hours_within_a_window_are_read_as_such(string? from, string? to, string expected)
    {
        var args = SummaryArgs.Of(from is null ? null : At(from), to is null ? null : At(to));

        var bounds = expected.Split('|').Select(at => at == Infinite ? At(at, from is not null) : At(at)).ToArray();
        Assert.Equal(bounds, new[] { args.HeadEnd, args.HoursFrom, args.HoursTo, args.TailStart });
    }

    [Theory]
    [InlineData("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z")]
    [InlineData("0001-01-01T00:00:00Z", "0001-01-01T00:00:03Z")]
    [InlineData("0001-01-01T00:00:02Z", "9998-12-31T23:59:59.999999Z")]
    [InlineData("0001-01-01T00:00:00.000001Z", null)]
    [InlineData(null, "0001-01-01T00:00:00.000001Z")]
    [InlineData("1969-12-31T23:59:57Z", "1970-01-01T00:00:01Z")]
    [InlineData("9999-12-31T23:59:58Z", "9999-12-31T23:59:59.999999Z")]
    [InlineData("9999-12-31T23:59:58Z", null)]
    [InlineData("9999-12-31T22:59:58Z", null)]
    [InlineData(null, "9999-12-31T23:59:59.999999Z")]
    public void Windows_in_extreme_years_have_their_borders_in_order(string? from, string? to)
    {
        var args = SummaryArgs.Of(Parse(from), Parse(to));

        DateTime[] borders = [args.From, args.HeadEnd, args.HoursFrom, args.HoursTo, args.TailStart, After(args.To)];
        Assert.Equal(borders.Order(), borders);
        Assert.All(borders, at => Assert.Equal(DateTimeKind.Utc, at.Kind));
    }

    [Property]
    public void The_raw_edges_beside_whole_buckets_are_shorter_than_a_bucket(
        DoNotSize<uint> start, DoNotSize<uint> length)
    {
        // Within two days or so, to microseconds: windows of no bucket, of some, and of hours.
        var from = At("12:00:00").AddMicroseconds(40.0 * start.Item);
        var to = from.AddMicroseconds(length.Item % 3 == 0 ? length.Item / 300.0 : 40.0 * length.Item);
        var bucket = TimeSpan.FromSeconds(5);

        var args = SummaryArgs.Of(from, to);

        DateTime[] borders = [args.From, args.HeadEnd, args.HoursFrom, args.HoursTo, args.TailStart, After(args.To)];
        Assert.Equal(borders.Order(), borders);
        Assert.Equal((from, to), (args.From, args.To));
        Assert.True(args.To - args.TailStart < 2 * bucket && args.HeadEnd - args.From < bucket);
        if (args.HeadEnd == args.TailStart)
            return;
        Assert.All([args.HeadEnd, args.TailStart], at => Assert.Equal(0, at.Ticks % bucket.Ticks));
        Assert.True(args.To - args.TailStart < bucket);
        if (args.HoursFrom < args.HoursTo)
            Assert.All([args.HoursFrom, args.HoursTo], at => Assert.Equal(0, at.Ticks % TimeSpan.TicksPerHour));
    }

    [Theory]
    [InlineData("1969-12-31T23:59:57Z", "1970-01-01T00:00:00Z")]
    [InlineData("1969-12-31T23:59:55Z", "1969-12-31T23:59:55Z")]
    [InlineData("1969-12-31T23:59:55.000001Z", "1970-01-01T00:00:00Z")]
    public void Buckets_before_1970_have_the_same_borders_as_later_ones(string from, string headEnd)
    {
        var args = SummaryArgs.Of(Parse(from), Parse("1980-01-01T00:00:00Z"));

        Assert.Equal(Parse(headEnd), args.HeadEnd);
    }

    // The last microsecond of a bucket takes in all of it.
    private static DateTime After(DateTime last) =>
        last > DateTime.MaxValue.AddMicroseconds(-1) ? last : last.AddMicroseconds(1);

    private static DateTime At(string time, bool late) =>
        DateTime.SpecifyKind(late ? DateTime.MaxValue : DateTime.MinValue, DateTimeKind.Utc);

    private static DateTime At(string time) => Parse($"2025-07-15T{time}Z")!.Value;

    private static DateTime? Parse(string? time) => time is null
        ? null
        : DateTime.Parse(time, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);
}

using System.Globalization;
using PaymentGateway.Recording;

namespace PaymentGateway.Tests.Summarising;

public sealed class SummaryArgsTests
{
    private const string Infinite = "infinite";

    // Raw rows from the first to before the second, buckets to before the third, raw rows to the fourth.
    [Theory]
    [InlineData("12:00:00", "12:00:20", "12:00:00|12:00:00|12:00:20|12:00:20")]
    [InlineData("12:00:01", "12:00:19", "12:00:01|12:00:05|12:00:15|12:00:19")]
    [InlineData("12:00:00.000001", "12:00:10", "12:00:00.000001|12:00:05|12:00:10|12:00:10")]
    [InlineData("12:00:04.9", "12:00:09.999999", "12:00:04.9|12:00:04.9|12:00:04.9|12:00:09.999999")]
    [InlineData("12:00:04.999999", "12:00:10", "12:00:04.999999|12:00:05|12:00:10|12:00:10")]
    [InlineData("12:00:01", "12:00:02", "12:00:01|12:00:01|12:00:01|12:00:02")]
    [InlineData("12:00:01", "12:00:06", "12:00:01|12:00:01|12:00:01|12:00:06")]
    [InlineData("12:00:05", "12:00:05", "12:00:05|12:00:05|12:00:05|12:00:05")]
    [InlineData("12:00:00", "12:00:05", "12:00:00|12:00:00|12:00:05|12:00:05")]
    public void A_window_has_two_raw_edges_and_whole_buckets_between(string from, string to, string expected)
    {
        var args = SummaryArgs.Of(At(from), At(to));

        var bounds = expected.Split('|').Select(At).ToArray();
        Assert.Equal(bounds, new[] { args.From, args.HeadEnd, args.TailStart, args.To });
    }

    [Fact]
    public void An_absent_bound_has_no_raw_edge()
    {
        var (from, to) = (At("12:00:01"), At("12:00:19"));

        Assert.Equal(
            new SummaryArgs(At(Infinite, false), At(Infinite, false), At(Infinite, true), At(Infinite, true)),
            SummaryArgs.Of(null, null));
        Assert.Equal(
            new SummaryArgs(from, At("12:00:05"), At(Infinite, true), At(Infinite, true)), SummaryArgs.Of(from, null));
        Assert.Equal(
            new SummaryArgs(At(Infinite, false), At(Infinite, false), At("12:00:15"), to), SummaryArgs.Of(null, to));
    }

    [Theory]
    [InlineData("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z")]
    [InlineData("0001-01-01T00:00:00Z", "0001-01-01T00:00:03Z")]
    [InlineData("0001-01-01T00:00:02Z", "9998-12-31T23:59:59.999999Z")]
    [InlineData("0001-01-01T00:00:00.000001Z", null)]
    [InlineData(null, "0001-01-01T00:00:00.000001Z")]
    [InlineData("1969-12-31T23:59:57Z", "1970-01-01T00:00:01Z")]
    [InlineData("9999-12-31T23:59:58Z", "9999-12-31T23:59:59.999999Z")]
    [InlineData(null, "9999-12-31T23:59:59.999999Z")]
    public void Extreme_years_have_borders_in_order_too(string? from, string? to)
    {
        var args = SummaryArgs.Of(Parse(from), Parse(to));

        Assert.True(args.From <= args.HeadEnd, "the head");
        Assert.True(args.HeadEnd <= args.TailStart, "the buckets");
        Assert.True(args.TailStart <= args.To, "the tail");
        Assert.All([args.From, args.HeadEnd, args.TailStart, args.To], at => Assert.Equal(DateTimeKind.Utc, at.Kind));
    }

    [Theory]
    [InlineData("1969-12-31T23:59:57Z", "1970-01-01T00:00:00Z")]
    [InlineData("1969-12-31T23:59:55Z", "1969-12-31T23:59:55Z")]
    [InlineData("1969-12-31T23:59:55.000001Z", "1970-01-01T00:00:00Z")]
    public void Buckets_before_1970_have_the_same_borders(string from, string headEnd)
    {
        var args = SummaryArgs.Of(Parse(from), Parse("1980-01-01T00:00:00Z"));

        Assert.Equal(Parse(headEnd), args.HeadEnd);
    }

    private static DateTime At(string time, bool late) =>
        DateTime.SpecifyKind(late ? DateTime.MaxValue : DateTime.MinValue, DateTimeKind.Utc);

    private static DateTime At(string time) => Parse($"2025-07-15T{time}Z")!.Value;

    private static DateTime? Parse(string? time) => time is null
        ? null
        : DateTime.Parse(time, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);
}

namespace PaymentGateway.Tests;

public sealed class TimestampsTests
{
    private static readonly CultureInfo Culture = CultureInfo.InvariantCulture;
    private static readonly DateTime Whole = Batches.Noon.AddTicks(1_234_560);

    [Property]
    public void A_truncated_instant_is_whole_microseconds_in_UTC_and_less_than_one_away(DoNotSize<ulong> any)
    {
        var instant = new DateTime((long)(any.Item % (ulong)(DateTime.MaxValue.Ticks - 10)), DateTimeKind.Utc);
        var down = Timestamps.Truncate(instant);

        Assert.Equal((0L, DateTimeKind.Utc), (down.Ticks % TimeSpan.TicksPerMicrosecond, down.Kind));
        Assert.InRange(instant - down, TimeSpan.Zero, TimeSpan.FromTicks(TimeSpan.TicksPerMicrosecond - 1));
    }

    [Property]
    public void A_time_is_read_down_to_the_microsecond_whatever_its_digits_and_its_zone_are(
        DoNotSize<ulong> any, ulong finer, byte quarters)
    {
        var utc = Whole.AddMicroseconds(any.Item % 1_000_000_000_000);
        var zone = TimeSpan.FromMinutes(15 * (quarters % 57));
        var text = new DateTimeOffset(utc).ToOffset(zone).ToString("yyyy-MM-dd'T'HH:mm:ss.ffffff", Culture)
            + $"{finer}+{zone:hh\\:mm}";

        Assert.True(Timestamps.TryParse(text, out var read, out var isWhole), text);
        Assert.Equal((utc, finer == 0), (read, isWhole));
    }

    [Fact]
    public void The_clock_is_read_in_whole_microseconds()
    {
        var clock = new FakeTimeProvider(new DateTimeOffset(Whole).AddTicks(7));

        Assert.Equal(Whole, clock.UtcMicroseconds());
    }

    [Theory]
    [InlineData("2025-07-15T12:34:56.0Z", true)]
    [InlineData("2025-07-15T12:34:56.", false)]
    [InlineData("2025-07-15T12:34:56.Z", false)]
    public void A_fraction_of_a_second_has_a_digit(string text, bool valid) =>
        Assert.Equal(valid, Timestamps.TryParse(text, out _, out _));
}

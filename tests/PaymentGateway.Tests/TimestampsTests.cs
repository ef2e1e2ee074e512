namespace PaymentGateway.Tests;

public sealed class TimestampsTests
{
    private static readonly DateTime Whole = Batches.Noon.AddTicks(1_234_560);

    [Property]
    public void A_truncated_instant_is_whole_microseconds_in_UTC_and_less_than_one_away(DoNotSize<ulong> any)
    {
        var instant = new DateTime((long)(any.Item % (ulong)(DateTime.MaxValue.Ticks - 10)), DateTimeKind.Utc);
        var (down, up) = (Timestamps.Truncate(instant), Timestamps.RoundUp(instant));

        Assert.Equal((0L, 0L), (down.Ticks % TimeSpan.TicksPerMicrosecond, up.Ticks % TimeSpan.TicksPerMicrosecond));
        Assert.Equal((DateTimeKind.Utc, DateTimeKind.Utc), (down.Kind, up.Kind));
        Assert.InRange(instant - down, TimeSpan.Zero, TimeSpan.FromTicks(TimeSpan.TicksPerMicrosecond - 1));
        Assert.InRange(up - instant, TimeSpan.Zero, TimeSpan.FromTicks(TimeSpan.TicksPerMicrosecond - 1));
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
        Assert.Equal(valid, Timestamps.TryParse(text, out _));
}

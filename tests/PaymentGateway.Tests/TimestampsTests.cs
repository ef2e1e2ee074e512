using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests;

public sealed class TimestampsTests
{
    private static readonly DateTime Whole = Batches.Noon.AddTicks(1_234_560);

    [Theory]
    [InlineData(0, 0, 0)]
    [InlineData(1, 0, 10)]
    [InlineData(9, 0, 10)]
    [InlineData(10, 10, 10)]
    public void An_instant_is_cut_to_microseconds_down_and_up(int ticks, int down, int up)
    {
        var instant = Whole.AddTicks(ticks);

        Assert.Equal(Whole.AddTicks(down), Timestamps.Cut(instant));
        Assert.Equal(Whole.AddTicks(up), Timestamps.CutUp(instant));
    }

    [Fact]
    public void What_is_cut_is_UTC()
    {
        Assert.Equal(DateTimeKind.Utc, Timestamps.Cut(Whole).Kind);
        Assert.Equal(DateTimeKind.Utc, Timestamps.CutUp(Whole.AddTicks(1)).Kind);
    }

    [Fact]
    public void The_clock_is_read_in_whole_microseconds()
    {
        var clock = new SteppedClock { Now = new DateTimeOffset(Whole).AddTicks(7) };

        Assert.Equal(Whole, clock.UtcMicroseconds());
    }
}

using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Showing;

namespace PaymentGateway.Tests.Showing;

/// <summary>When an instance is read, by timers that end early, on time and late.</summary>
public sealed class ReadingTimesTests
{
    private static readonly DateTimeOffset Began = new(2026, 11, 23, 15, 0, 0, TimeSpan.Zero);

    private readonly Clock _clock = new();
    private readonly ReadingTimes _times;

    public ReadingTimesTests()
    {
        _times = new ReadingTimes(_clock);
        _times.Begin();
    }

    [Fact]
    public async Task A_timer_that_ends_just_before_the_second_makes_no_reading_of_a_moment()
    {
        _clock.Offset = TimeSpan.FromMilliseconds(-1);

        var readings = new List<TimeSpan>();
        for (var number = 0; number < 5; number++)
            readings.Add(await NextAsync());

        Assert.All(
            readings.Zip(readings.Skip(1)),
            pair => Assert.Equal(TimeSpan.FromSeconds(1), pair.Second - pair.First));
    }

    [Theory]
    [InlineData(0, 1_000)]
    [InlineData(400, 1_000)]
    [InlineData(600, 2_000)]
    [InlineData(999.5, 2_000)]
    public async Task The_first_reading_is_of_half_a_second_at_least(double begun, double read)
    {
        _clock.Advance(TimeSpan.FromMilliseconds(begun));
        _times.Begin();

        var first = await NextAsync();

        Assert.InRange(first, TimeSpan.FromMilliseconds(read), TimeSpan.FromMilliseconds(read + 1));
    }

    [Fact]
    public async Task After_one_that_was_late_the_next_is_of_half_a_second_at_least()
    {
        _clock.Offset = TimeSpan.FromMilliseconds(800);
        Assert.Equal(TimeSpan.FromMilliseconds(1_800), await NextAsync());
        _clock.Offset = TimeSpan.Zero;

        Assert.Equal(TimeSpan.FromSeconds(3), await NextAsync());
    }

    [Fact]
    public async Task A_clock_that_is_set_back_keeps_nobody_waiting()
    {
        await NextAsync();
        _clock.Shift = TimeSpan.FromSeconds(-30);

        Assert.Equal(TimeSpan.FromSeconds(2), await NextAsync());
    }

    /// <returns>When it was read, since the start.</returns>
    private async Task<TimeSpan> NextAsync()
    {
        var next = _times.NextAsync(CancellationToken.None);
        _clock.Advance(_clock.Due);
        await next.WaitAsync(TimeSpan.FromSeconds(20));
        return _clock.GetElapsedTime(0) - TimeSpan.FromTicks(Began.Ticks);
    }

    /// <summary>Its timers end so much too late or, below zero, too early.</summary>
    private sealed class Clock() : FakeTimeProvider(Began)
    {
        public TimeSpan Offset { get; set; }

        /// <summary>So much its wall clock was set.</summary>
        public TimeSpan Shift { get; set; }

        /// <summary>In so long the newest timer ends.</summary>
        public TimeSpan Due { get; private set; }

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Shift;

        public override long GetTimestamp() => base.GetUtcNow().Ticks;

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Due = dueTime + Offset;
            return base.CreateTimer(callback, state, Due, period);
        }
    }
}

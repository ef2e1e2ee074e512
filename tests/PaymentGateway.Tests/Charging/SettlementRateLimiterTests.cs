namespace PaymentGateway.Tests.Charging;

public sealed class SettlementRateLimiterTests
{
    private static readonly TimeSpan Slice = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan Moment = TimeSpan.FromMilliseconds(0.1);

    private readonly FakeTimeProvider _clock = new();
    private readonly SettlementRateLimiter _rateLimiter;

    public SettlementRateLimiterTests() => _rateLimiter = new SettlementRateLimiter(_clock, 300);

    [Theory]
    [InlineData(0)]
    [InlineData(60)]
    public void A_slice_lets_its_share_of_the_second_pass_however_long_the_idle_time_before_it(int idleSeconds)
    {
        _clock.Advance(TimeSpan.FromSeconds(idleSeconds));
        for (var i = 0; i < 3; i++)
            Assert.True(Goes());

        Assert.False(Goes());
    }

    [Fact]
    public async Task A_charge_that_waited_passes_in_the_next_slice_and_counts_there()
    {
        for (var i = 0; i < 3; i++)
            await _rateLimiter.AcquireAsync(default);
        var waiting = _rateLimiter.AcquireAsync(default).AsTask();
        _clock.Advance(Slice);
        await waiting;

        Assert.True(Goes());
        Assert.True(Goes());
        Assert.False(Goes());
    }

    [Fact]
    public async Task Delays_that_are_cut_to_whole_milliseconds_let_no_more_pass()
    {
        var began = _clock.GetUtcNow();
        for (var i = 0; i < 300; i++)
        {
            // A charge takes a moment, so what is left of the slice is no whole number of milliseconds.
            _clock.Advance(Moment);
            var charge = _rateLimiter.AcquireAsync(default).AsTask();
            while (!charge.IsCompleted)
                _clock.Advance(Moment);
            await charge;
        }

        Assert.True(_clock.GetUtcNow() - began >= TimeSpan.FromSeconds(1) - Slice, $"{_clock.GetUtcNow() - began}");
    }

    private bool Goes() => _rateLimiter.AcquireAsync(default).AsTask().IsCompleted;
}

namespace PaymentGateway.Tests.Charging;

public sealed class ConcurrencyLimitTests
{
    private static readonly TimeSpan Quick = TimeSpan.FromMilliseconds(10);

    private readonly FakeTimeProvider _clock = new();
    private readonly ConcurrencyLimit _limit;

    public ConcurrencyLimitTests() => _limit = new ConcurrencyLimit(_clock, 100);

    [Fact]
    public void There_are_as_many_permits_as_the_limit_says()
    {
        var acquired = AcquireAll();

        Assert.Equal(16, acquired);
        Assert.Equal(16, _limit.Current);
        _limit.Release(null, false);
        Assert.True(_limit.TryAcquire());
        Assert.False(_limit.TryAcquire());
    }

    [Theory]
    [InlineData(10, 100)]
    [InlineData(null, 16)]
    public void The_limit_grows_up_to_its_maximum_while_permits_run_out_unless_calls_fail(int? latencyMs, int limit)
    {
        Use(200, latencyMs is { } quick ? TimeSpan.FromMilliseconds(quick) : null);

        Assert.Equal(limit, _limit.Current);
    }

    [Theory]
    [InlineData(100, 4)]
    [InlineData(2, 2)]
    public void The_limit_never_falls_below_four_or_a_lower_maximum(int most, int least)
    {
        var limit = new ConcurrencyLimit(_clock, most);

        for (var i = 0; i < 10; i++)
        {
            limit.TryAcquire();
            limit.Release(null, overloaded: true);
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(least, limit.Current);
    }

    [Fact]
    public void Each_of_several_answers_that_come_together_lets_the_limit_grow()
    {
        var acquired = AcquireAll();

        for (var i = 0; i < acquired; i++)
            _limit.Release(Quick, false);

        Assert.Equal(2 * acquired, _limit.Current);
    }

    [Fact]
    public void The_limit_does_not_grow_by_calls_that_began_after_the_last_refusal()
    {
        AcquireAll();
        _clock.Advance(Quick * 2);

        _limit.Release(Quick, false);

        Assert.Equal(16, _limit.Current);
    }

    [Fact]
    public void The_limit_does_not_grow_while_permits_are_left()
    {
        for (var i = 0; i < 100; i++)
        {
            _limit.TryAcquire();
            _limit.Release(Quick, false);
        }

        Assert.Equal(16, _limit.Current);
    }

    [Fact]
    public void An_overloaded_processor_halves_the_limit_once_per_burst()
    {
        var acquired = AcquireAll();

        for (var i = 0; i < acquired; i++)
            _limit.Release(null, overloaded: true);

        Assert.Equal(8, _limit.Current);
        _clock.Advance(TimeSpan.FromMilliseconds(250));
        _limit.TryAcquire();
        _limit.Release(null, overloaded: true);
        Assert.Equal(4, _limit.Current);
    }

    [Fact]
    public void A_longer_latency_alone_is_no_overload()
    {
        Use(20, Quick);
        var before = _limit.Current;

        Use(20, TimeSpan.FromSeconds(2));

        Assert.True(_limit.Current > before, $"{before} became {_limit.Current}");
    }

    [Fact]
    public void After_a_decrease_the_limit_grows_slowly()
    {
        _limit.TryAcquire();
        _limit.Release(null, overloaded: true);
        Assert.Equal(8, _limit.Current);

        Use(8, Quick);
        Assert.Equal(8, _limit.Current);
        Use(8, Quick);

        Assert.Equal(9, _limit.Current);
    }

    private int AcquireAll()
    {
        var acquired = 0;
        while (_limit.TryAcquire())
            acquired++;
        return acquired;
    }

    // One leaves and others come, as under load: all permits stay taken, and none at the end.
    private void Use(int calls, TimeSpan? latency)
    {
        var inFlight = AcquireAll();
        for (var i = 0; i < calls; i++)
        {
            _limit.Release(latency, false);
            inFlight += AcquireAll() - 1;
        }

        for (; inFlight > 0; inFlight--)
            _limit.Release(null, false);
    }
}

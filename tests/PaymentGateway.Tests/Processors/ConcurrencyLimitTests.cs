using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Processors;

public sealed class ConcurrencyLimitTests
{
    private static readonly TimeSpan Quick = TimeSpan.FromMilliseconds(10);

    private readonly FakeTimeProvider clock = new();
    private readonly ConcurrencyLimit limit;

    public ConcurrencyLimitTests() => limit = new ConcurrencyLimit(clock, 100);

    [Fact]
    public void There_are_as_many_permits_as_the_limit_says()
    {
        var acquired = AcquireAll();

        Assert.Equal(16, acquired);
        Assert.Equal(16, limit.Current);
        limit.Release(null, false);
        Assert.True(limit.TryAcquire());
        Assert.False(limit.TryAcquire());
    }

    [Fact]
    public void The_limit_grows_up_to_its_maximum_while_all_permits_are_used_and_calls_succeed()
    {
        Use(200, Quick);

        Assert.Equal(100, limit.Current);
    }

    [Fact]
    public void Each_of_several_answers_that_come_together_lets_the_limit_grow()
    {
        var acquired = AcquireAll();

        for (var i = 0; i < acquired; i++)
            limit.Release(Quick, false);

        Assert.Equal(2 * acquired, limit.Current);
    }

    [Fact]
    public void The_limit_does_not_grow_by_calls_that_began_after_the_last_refusal()
    {
        AcquireAll();
        clock.Advance(Quick * 2);

        limit.Release(Quick, false);

        Assert.Equal(16, limit.Current);
    }

    [Fact]
    public void The_limit_does_not_grow_while_permits_are_left()
    {
        for (var i = 0; i < 100; i++)
        {
            limit.TryAcquire();
            limit.Release(Quick, false);
        }

        Assert.Equal(16, limit.Current);
    }

    [Fact]
    public void The_limit_does_not_grow_by_failed_calls()
    {
        Use(200, null);

        Assert.Equal(16, limit.Current);
    }

    [Fact]
    public void An_overloaded_processor_halves_the_limit_once_per_burst()
    {
        var acquired = AcquireAll();

        for (var i = 0; i < acquired; i++)
            limit.Release(null, overloaded: true);

        Assert.Equal(8, limit.Current);
        clock.Advance(TimeSpan.FromMilliseconds(250));
        limit.TryAcquire();
        limit.Release(null, overloaded: true);
        Assert.Equal(4, limit.Current);
    }

    [Fact]
    public void The_limit_never_falls_below_four()
    {
        for (var i = 0; i < 10; i++)
        {
            limit.TryAcquire();
            limit.Release(null, overloaded: true);
            clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(4, limit.Current);
    }

    [Fact]
    public void A_maximum_below_four_is_kept()
    {
        var small = new ConcurrencyLimit(clock, 2);

        Assert.Equal(2, small.Current);
        small.TryAcquire();
        small.Release(null, overloaded: true);
        Assert.Equal(2, small.Current);
    }

    [Fact]
    public void Calls_that_take_much_longer_than_the_best_recent_one_halve_the_limit()
    {
        limit.TryAcquire();
        limit.Release(Quick, false);

        limit.TryAcquire();
        limit.Release(TimeSpan.FromMilliseconds(121), false);

        Assert.Equal(8, limit.Current);
    }

    [Fact]
    public void A_delay_that_all_calls_have_is_no_congestion()
    {
        for (var i = 0; i < 200; i++)
        {
            limit.TryAcquire();
            limit.Release(TimeSpan.FromSeconds(1), false);
            clock.Advance(TimeSpan.FromMilliseconds(50));
        }

        Assert.Equal(16, limit.Current);
    }

    [Fact]
    public void A_new_delay_counts_as_normal_after_a_while()
    {
        limit.TryAcquire();
        limit.Release(Quick, false);
        for (var i = 0; i < 100; i++)
        {
            clock.Advance(TimeSpan.FromMilliseconds(100));
            limit.TryAcquire();
            limit.Release(TimeSpan.FromSeconds(1), false);
        }

        var settled = limit.Current;
        Use(200, TimeSpan.FromSeconds(1));

        Assert.True(limit.Current > settled, $"{settled} became {limit.Current}");
    }

    [Fact]
    public void After_a_decrease_the_limit_grows_slowly()
    {
        limit.TryAcquire();
        limit.Release(null, overloaded: true);
        Assert.Equal(8, limit.Current);

        Use(8, Quick);
        Assert.Equal(8, limit.Current);
        Use(8, Quick);

        Assert.Equal(9, limit.Current);
    }

    private int AcquireAll()
    {
        var acquired = 0;
        while (limit.TryAcquire())
            acquired++;
        return acquired;
    }

    // One leaves and others come, as under load: all permits stay taken, and none at the end.
    private void Use(int calls, TimeSpan? latency)
    {
        var inFlight = AcquireAll();
        for (var i = 0; i < calls; i++)
        {
            limit.Release(latency, false);
            inFlight += AcquireAll() - 1;
        }

        for (; inFlight > 0; inFlight--)
            limit.Release(null, false);
    }
}

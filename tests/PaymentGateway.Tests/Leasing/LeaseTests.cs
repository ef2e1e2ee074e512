using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Configuring;
using PaymentGateway.Leasing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

public sealed class LeaseTests
{
    private static readonly LeasingOptions Options = new(TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1));

    private readonly SteppedClock clock = new();
    private readonly Lease lease;

    public LeaseTests() => lease = new Lease(clock, Options);

    [Fact]
    public void Without_a_confirmation_of_the_database_no_lease_is_held()
    {
        Assert.False(lease.IsHeld);
        Assert.Equal(0, lease.Epoch);
    }

    [Fact]
    public void The_lease_ends_here_before_it_ends_in_the_database()
    {
        var askedAt = clock.GetTimestamp();
        clock.Elapsed += TimeSpan.FromSeconds(1);
        lease.Confirm(7, askedAt);

        clock.Elapsed = TimeSpan.FromSeconds(2.69);
        Assert.True(lease.IsHeld);
        clock.Elapsed = TimeSpan.FromSeconds(2.7);

        Assert.False(lease.IsHeld);
        Assert.Equal(7, lease.Epoch);
    }

    [Fact]
    public void The_wall_clock_neither_ends_nor_prolongs_the_lease()
    {
        lease.Confirm(7, clock.GetTimestamp());

        clock.Now = clock.Now.AddYears(1);
        Assert.True(lease.IsHeld);
        clock.Elapsed = TimeSpan.FromSeconds(3);
        clock.Now = clock.Now.AddYears(-2);

        Assert.False(lease.IsHeld);
    }

    [Fact]
    public void A_renewal_prolongs_the_lease()
    {
        lease.Confirm(7, clock.GetTimestamp());
        clock.Elapsed = TimeSpan.FromSeconds(2);

        lease.Confirm(7, clock.GetTimestamp());

        clock.Elapsed = TimeSpan.FromSeconds(4);
        Assert.True(lease.IsHeld);
    }

    [Fact]
    public void A_lost_epoch_owns_no_payment_ever_again()
    {
        lease.Confirm(7, clock.GetTimestamp());
        var payment = new Payment(Guid.NewGuid(), 1, clock.Now.UtcDateTime, 7);
        Assert.True(lease.Owns(payment));

        lease.Lose();

        Assert.False(lease.IsHeld);
        Assert.False(lease.Owns(payment));
        lease.Confirm(8, clock.GetTimestamp());
        Assert.True(lease.IsHeld);
        Assert.False(lease.Owns(payment));
    }

    [Fact]
    public void Payments_may_use_fallback_only_once_the_database_has_the_mark_of_their_epoch()
    {
        lease.Confirm(7, clock.GetTimestamp());
        var payment = new Payment(Guid.NewGuid(), 1, clock.Now.UtcDateTime, 7);
        Assert.False(lease.FallbackRequested);

        Assert.False(lease.MayUseFallback(payment));
        Assert.True(lease.FallbackRequested);
        Assert.False(lease.MayUseFallback(payment));
        lease.FallbackMarked(7);
        Assert.True(lease.MayUseFallback(payment));

        // The next epoch has said nothing yet.
        lease.Lose();
        lease.Confirm(8, clock.GetTimestamp());
        Assert.False(lease.FallbackRequested);
        Assert.False(lease.MayUseFallback(new Payment(Guid.NewGuid(), 1, clock.Now.UtcDateTime, 8)));
    }

    [Fact]
    public async Task Setting_the_event_wakes_the_keeper_also_when_it_was_set_earlier()
    {
        var lease = new Lease(new FakeTimeProvider(), Options);
        var waiting = lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);
        Assert.False(waiting.IsCompleted);

        lease.CheckSoon.Set();
        await waiting.WaitAsync(TimeSpan.FromSeconds(20));

        lease.CheckSoon.Set();
        lease.CheckSoon.Set();
        waiting = lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);
        await waiting.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.False(lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None).IsCompleted);
    }
}

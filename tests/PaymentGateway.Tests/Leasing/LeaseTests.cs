namespace PaymentGateway.Tests.Leasing;

public sealed class LeaseTests
{
    private static readonly LeasingOptions Options = new(TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1));

    private readonly WatchedClock _clock = new();
    private readonly Lease _lease;

    public LeaseTests() => _lease = new Lease(_clock, Options);

    [Fact]
    public void The_lease_ends_here_before_it_ends_in_the_database()
    {
        var askedAt = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromSeconds(1));
        _lease.Confirm(7, askedAt);

        _clock.Advance(TimeSpan.FromSeconds(1.69));
        Assert.True(_lease.IsHeld);
        _clock.Advance(TimeSpan.FromSeconds(0.01));

        Assert.False(_lease.IsHeld);
        Assert.Equal(7, _lease.Epoch);
    }

    [Fact]
    public void The_wall_clock_neither_ends_nor_prolongs_the_lease()
    {
        _lease.Confirm(7, _clock.GetTimestamp());

        _clock.WallShift = TimeSpan.FromDays(365);
        Assert.True(_lease.IsHeld);
        _clock.Advance(TimeSpan.FromSeconds(3));
        _clock.WallShift = TimeSpan.FromDays(-365);

        Assert.False(_lease.IsHeld);
    }

    [Fact]
    public void A_lost_epoch_owns_no_payment_ever_again()
    {
        _lease.Confirm(7, _clock.GetTimestamp());
        var payment = new Payment(Guid.NewGuid(), 1, Batches.Noon, 7);
        Assert.True(_lease.Owns(payment));

        _lease.Lose(7);

        Assert.False(_lease.IsHeld);
        Assert.False(_lease.Owns(payment));
        _lease.Confirm(8, _clock.GetTimestamp());
        Assert.True(_lease.IsHeld);
        Assert.False(_lease.Owns(payment));

        _lease.Lose(7);

        Assert.Equal(8, _lease.Epoch);
    }

    [Fact]
    public void Payments_may_use_fallback_only_once_the_database_has_the_mark_of_their_epoch()
    {
        _lease.Confirm(7, _clock.GetTimestamp());
        var payment = new Payment(Guid.NewGuid(), 1, Batches.Noon, 7);
        Assert.False(_lease.Wanted.Contains(Known.Fallback));

        Assert.False(_lease.MayUse(Known.Fallback, payment));
        Assert.True(_lease.Wanted.Contains(Known.Fallback));
        Assert.False(_lease.MayUse(Known.Fallback, payment));
        _lease.Stored(7, ProcessorSet.Of(Known.Fallback));
        Assert.True(_lease.MayUse(Known.Fallback, payment));

        // The next epoch has said nothing yet.
        _lease.Lose(7);
        _lease.Confirm(8, _clock.GetTimestamp());
        Assert.False(_lease.Wanted.Contains(Known.Fallback));
        Assert.False(_lease.MayUse(Known.Fallback, new Payment(Guid.NewGuid(), 1, Batches.Noon, 8)));
    }

    [Fact]
    public async Task Setting_the_event_wakes_the_keeper_also_when_it_was_set_earlier()
    {
        var lease = new Lease(_clock, Options);
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

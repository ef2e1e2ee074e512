namespace PaymentGateway.Tests.Leasing;

public sealed class LeaseTests
{
    private readonly WatchedClock _clock = new();
    private readonly Lease _lease;

    public LeaseTests() => _lease = new Lease(
        new LeasingOptions(TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1)), Batches.Intake, new DoubtNotes(_clock),
        _clock);

    [Fact]
    public void The_lease_ends_here_before_it_ends_in_the_database()
    {
        var askedAt = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromSeconds(1));
        Begin(7, askedAt);

        _clock.Advance(TimeSpan.FromSeconds(1.69));
        Assert.True(_lease.IsTrusted);
        _clock.Advance(TimeSpan.FromSeconds(0.01));

        Assert.False(_lease.IsTrusted);
        Assert.Equal(7, _lease.Current.Number);
    }

    [Fact]
    public void The_wall_clock_neither_ends_nor_prolongs_the_lease()
    {
        Begin(7);

        _clock.WallShift = TimeSpan.FromDays(365);
        Assert.True(_lease.IsTrusted);
        _clock.Advance(TimeSpan.FromSeconds(3));
        _clock.WallShift = TimeSpan.FromDays(-365);

        Assert.False(_lease.IsTrusted);
    }

    [Fact]
    public void A_payment_of_an_ended_epoch_is_never_charged_again_unless_the_next_epoch_takes_it_over()
    {
        var epoch = Begin(7);
        var payment = new Payment(Guid.NewGuid(), 1, Batches.Noon, 7);
        Assert.True(_lease.MayCharge(payment));

        epoch.End();

        Assert.False(_lease.IsTrusted);
        Assert.False(_lease.MayCharge(payment));
        Begin(8);
        Assert.True(_lease.IsTrusted);
        Assert.False(_lease.MayCharge(payment));

        payment.Inherit(8);

        Assert.True(_lease.MayCharge(payment));
    }

    [Fact]
    public void The_next_epoch_ends_the_one_before_and_gives_later_times()
    {
        var first = Begin(7);
        var last = first.Acceptances.Begin(1_000_000).To;

        var second = Begin(8);

        Assert.True(first.HasEnded);
        Assert.Same(first, Assert.Single(_lease.Former).Value);
        Assert.True(second.Acceptances.Begin(1).From > last);
        _lease.Forget(7);
        Assert.Empty(_lease.Former);
    }

    [Fact]
    public void Payments_may_use_fallback_only_once_the_database_has_the_mark_of_their_epoch()
    {
        var epoch = Begin(7);
        Assert.True(epoch.MayUse(Known.Default));
        Assert.False(epoch.Wanted.Contains(Known.Fallback));

        Assert.False(epoch.MayUse(Known.Fallback));
        Assert.True(epoch.Wanted.Contains(Known.Fallback));
        Assert.False(epoch.MayUse(Known.Fallback));
        epoch.NoteStored(ProcessorSet.Of(Known.Fallback));
        Assert.True(epoch.MayUse(Known.Fallback));

        // The next epoch has said nothing yet.
        var next = Begin(8);
        Assert.False(next.Wanted.Contains(Known.Fallback));
        Assert.False(next.MayUse(Known.Fallback));
    }

    [Fact]
    public async Task Setting_the_event_wakes_the_keeper_also_when_it_was_set_earlier()
    {
        var waiting = _lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);
        Assert.False(waiting.IsCompleted);

        _lease.CheckSoon.Set();
        await waiting.WaitAsync(TimeSpan.FromSeconds(20));

        _lease.CheckSoon.Set();
        _lease.CheckSoon.Set();
        waiting = _lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);
        await waiting.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.False(_lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None).IsCompleted);
    }

    private Epoch Begin(int number, long? askedAt = null) =>
        _lease.Begin(number, LedgerState.Unknown, Known.AtDefault, askedAt ?? _clock.GetTimestamp());
}

using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Leasing;

namespace PaymentGateway.Tests.Leasing;

public sealed class StoredBacklogTests
{
    private readonly FakeTimeProvider _clock = new();
    private readonly AcceptanceClock _acceptances;
    private readonly StoredBacklog _backlog;

    public StoredBacklogTests() => (_acceptances, _backlog) = (new AcceptanceClock(_clock), new StoredBacklog(_clock));

    [Fact]
    public void An_empty_backlog_has_nothing_to_read()
    {
        Assert.False(_backlog.HasOverflow);
        Assert.Null(_backlog.Next());
        Assert.Null(_backlog.Oldest());
    }

    [Fact]
    public void Overflow_can_be_read_at_once()
    {
        var batch = _acceptances.Begin(10);

        _backlog.AddOverflow(batch);

        Assert.True(_backlog.HasOverflow);
        Assert.Equal(batch.From, _backlog.Oldest());
        Assert.Equal((batch.From, batch.To), Bounds(_backlog.Next()));
    }

    [Fact]
    public void Consecutive_batches_become_one_range()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);

        _backlog.AddOverflow(first);
        _backlog.AddOverflow(second);

        Assert.Equal((first.From, second.To), Bounds(_backlog.Next()));
    }

    [Fact]
    public void A_batch_that_is_in_memory_is_never_inside_a_range()
    {
        var first = _acceptances.Begin(10);
        _ = _acceptances.Begin(10);
        var third = _acceptances.Begin(10);

        _backlog.AddOverflow(first);
        _backlog.AddOverflow(third);

        var range = _backlog.Next()!;
        Assert.Equal((first.From, first.To), Bounds(range));
        _backlog.Advance(range, range.To);
        Assert.Equal((third.From, third.To), Bounds(_backlog.Next()));
    }

    [Fact]
    public void Batches_that_are_not_consecutive_are_not_merged()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);

        _backlog.AddOverflow(second);
        _backlog.AddOverflow(first);

        Assert.Equal((second.From, second.To), Bounds(_backlog.Next()));
        Assert.Equal(first.From, _backlog.Oldest());
    }

    [Fact]
    public void An_uncertain_batch_is_read_only_when_nothing_more_can_be_stored_in_its_range()
    {
        var batch = _acceptances.Begin(10);

        _backlog.AddUncertain(batch);

        Assert.Equal((batch.From, batch.To), (_backlog.Oldest(), _backlog.UncertainUntil()));
        Assert.False(_backlog.HasOverflow);
        Assert.Null(_backlog.Next());
        _backlog.MakeCertain(batch.To);
        Assert.True(_backlog.HasOverflow);
        Assert.Null(_backlog.UncertainUntil());
        Assert.Equal((batch.From, batch.To), Bounds(_backlog.Next()));
    }

    [Fact]
    public void A_batch_that_became_uncertain_after_the_check_began_stays_uncertain()
    {
        var (first, second) = (_acceptances.Begin(10), _acceptances.Begin(10));
        _backlog.AddUncertain(first);
        _backlog.AddUncertain(second);

        _backlog.MakeCertain(first.To);

        Assert.Equal((first.From, first.To), Bounds(_backlog.Next()));
        Assert.Equal(second.To, _backlog.UncertainUntil());
        _backlog.Advance(_backlog.Next()!, first.To);
        Assert.Null(_backlog.Next());
        Assert.Equal(second.From, _backlog.Oldest());
        _backlog.MakeCertain(second.To);
        Assert.Equal((second.From, second.To), Bounds(_backlog.Next()));
    }

    [Fact]
    public void Uncertain_batches_that_end_in_another_order_are_all_checked()
    {
        var (first, second) = (_acceptances.Begin(10), _acceptances.Begin(10));
        _backlog.AddUncertain(second);
        _backlog.AddUncertain(first);

        Assert.Equal(second.To, _backlog.UncertainUntil());
        _backlog.MakeCertain(second.To);

        Assert.Null(_backlog.UncertainUntil());
    }

    [Fact]
    public void An_uncertain_batch_is_not_merged_with_overflow()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);

        _backlog.AddUncertain(first);
        _backlog.AddOverflow(second);

        Assert.Equal((second.From, second.To), Bounds(_backlog.Next()));
        Assert.Equal(first.From, _backlog.Oldest());
    }

    [Fact]
    public void A_range_that_was_read_is_not_read_again()
    {
        var batch = _acceptances.Begin(10);
        _backlog.AddOverflow(batch);

        _backlog.Advance(_backlog.Next()!, batch.At(3));

        Assert.Equal((batch.At(4), batch.To), Bounds(_backlog.Next()));
        Assert.Equal(batch.At(4), _backlog.Oldest());
        _backlog.Advance(_backlog.Next()!, batch.To);
        Assert.Null(_backlog.Next());
        Assert.False(_backlog.HasOverflow);
    }

    [Fact]
    public void A_batch_merged_into_a_range_while_that_is_read_is_not_lost()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);
        _backlog.AddOverflow(first);
        var range = _backlog.Next()!;

        _backlog.AddOverflow(second);
        _backlog.Advance(range, range.To);

        var rest = _backlog.Next()!;
        Assert.True(rest.From <= second.From);
        Assert.True(rest.From > first.To);
        Assert.Equal(second.To, rest.To);
    }

    [Fact]
    public void A_page_that_was_read_of_a_lost_epoch_changes_nothing()
    {
        var old = _acceptances.Begin(10);
        _backlog.AddOverflow(old);
        var range = _backlog.Next()!;
        _backlog.Clear();
        _clock.Advance(TimeSpan.FromSeconds(1));
        var batch = _acceptances.Begin(10);
        _backlog.AddOverflow(batch);

        _backlog.Advance(range, range.To);

        Assert.Equal((batch.From, batch.To), Bounds(_backlog.Next()));
    }

    private static (DateTime From, DateTime To) Bounds(StoredRange? range) => (range!.From, range.To);
}

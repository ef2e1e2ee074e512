using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Leasing;

namespace PaymentGateway.Tests.Leasing;

public sealed class StoredBacklogTests
{
    private readonly FakeTimeProvider clock = new();
    private readonly AcceptanceClock acceptances;
    private readonly StoredBacklog backlog;

    public StoredBacklogTests() => (acceptances, backlog) = (new AcceptanceClock(clock), new StoredBacklog(clock));

    [Fact]
    public void An_empty_backlog_has_nothing_to_read()
    {
        Assert.False(backlog.HasOverflow);
        Assert.Null(backlog.Next());
        Assert.Null(backlog.Oldest());
    }

    [Fact]
    public void Overflow_can_be_read_at_once()
    {
        var batch = acceptances.Begin(10);

        backlog.AddOverflow(batch);

        Assert.True(backlog.HasOverflow);
        Assert.Equal(batch.From, backlog.Oldest());
        Assert.Equal((batch.From, batch.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void Consecutive_batches_become_one_range()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);

        backlog.AddOverflow(first);
        backlog.AddOverflow(second);

        Assert.Equal((first.From, second.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void A_batch_that_is_in_memory_is_never_inside_a_range()
    {
        var first = acceptances.Begin(10);
        _ = acceptances.Begin(10);
        var third = acceptances.Begin(10);

        backlog.AddOverflow(first);
        backlog.AddOverflow(third);

        var range = backlog.Next()!;
        Assert.Equal((first.From, first.To), Bounds(range));
        backlog.Advance(range, range.To);
        Assert.Equal((third.From, third.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void Batches_that_are_not_consecutive_are_not_merged()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);

        backlog.AddOverflow(second);
        backlog.AddOverflow(first);

        Assert.Equal((second.From, second.To), Bounds(backlog.Next()));
        Assert.Equal(first.From, backlog.Oldest());
    }

    [Fact]
    public void An_uncertain_batch_is_read_only_when_nothing_more_can_be_stored_in_its_range()
    {
        var batch = acceptances.Begin(10);

        backlog.AddUncertain(batch);

        Assert.Equal((batch.From, batch.To), (backlog.Oldest(), backlog.UncertainUntil()));
        Assert.False(backlog.HasOverflow);
        Assert.Null(backlog.Next());
        backlog.MakeCertain(batch.To);
        Assert.True(backlog.HasOverflow);
        Assert.Null(backlog.UncertainUntil());
        Assert.Equal((batch.From, batch.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void A_batch_that_became_uncertain_after_the_check_began_stays_uncertain()
    {
        var (first, second) = (acceptances.Begin(10), acceptances.Begin(10));
        backlog.AddUncertain(first);
        backlog.AddUncertain(second);

        backlog.MakeCertain(first.To);

        Assert.Equal((first.From, first.To), Bounds(backlog.Next()));
        Assert.Equal(second.To, backlog.UncertainUntil());
        backlog.Advance(backlog.Next()!, first.To);
        Assert.Null(backlog.Next());
        Assert.Equal(second.From, backlog.Oldest());
        backlog.MakeCertain(second.To);
        Assert.Equal((second.From, second.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void Uncertain_batches_that_end_in_another_order_are_all_checked()
    {
        var (first, second) = (acceptances.Begin(10), acceptances.Begin(10));
        backlog.AddUncertain(second);
        backlog.AddUncertain(first);

        Assert.Equal(second.To, backlog.UncertainUntil());
        backlog.MakeCertain(second.To);

        Assert.Null(backlog.UncertainUntil());
    }

    [Fact]
    public void An_uncertain_batch_is_not_merged_with_overflow()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);

        backlog.AddUncertain(first);
        backlog.AddOverflow(second);

        Assert.Equal((second.From, second.To), Bounds(backlog.Next()));
        Assert.Equal(first.From, backlog.Oldest());
    }

    [Fact]
    public void A_range_that_was_read_is_not_read_again()
    {
        var batch = acceptances.Begin(10);
        backlog.AddOverflow(batch);

        backlog.Advance(backlog.Next()!, batch.At(3));

        Assert.Equal((batch.At(4), batch.To), Bounds(backlog.Next()));
        Assert.Equal(batch.At(4), backlog.Oldest());
        backlog.Advance(backlog.Next()!, batch.To);
        Assert.Null(backlog.Next());
        Assert.False(backlog.HasOverflow);
    }

    [Fact]
    public void A_batch_merged_into_a_range_while_that_is_read_is_not_lost()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);
        backlog.AddOverflow(first);
        var range = backlog.Next()!;

        backlog.AddOverflow(second);
        backlog.Advance(range, range.To);

        var rest = backlog.Next()!;
        Assert.True(rest.From <= second.From);
        Assert.True(rest.From > first.To);
        Assert.Equal(second.To, rest.To);
    }

    [Fact]
    public void A_page_that_was_read_of_a_lost_epoch_changes_nothing()
    {
        var old = acceptances.Begin(10);
        backlog.AddOverflow(old);
        var range = backlog.Next()!;
        backlog.Clear();
        clock.Advance(TimeSpan.FromSeconds(1));
        var batch = acceptances.Begin(10);
        backlog.AddOverflow(batch);

        backlog.Advance(range, range.To);

        Assert.Equal((batch.From, batch.To), Bounds(backlog.Next()));
    }

    private static (DateTime From, DateTime To) Bounds(StoredRange? range) => (range!.From, range.To);
}

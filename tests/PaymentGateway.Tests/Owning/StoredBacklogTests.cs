using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Owning;

namespace PaymentGateway.Tests.Owning;

public sealed class StoredBacklogTests
{
    private static readonly TimeSpan UncertainFor = TimeSpan.FromSeconds(6);
    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

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
    public void Neighbouring_batches_become_one_range()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);

        backlog.AddOverflow(first);
        backlog.AddOverflow(second);

        Assert.Equal((first.From, second.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void A_batch_that_went_to_memory_is_never_inside_a_range()
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
    public void Batches_that_come_in_another_order_are_not_merged()
    {
        var first = acceptances.Begin(10);
        var second = acceptances.Begin(10);

        backlog.AddOverflow(second);
        backlog.AddOverflow(first);

        Assert.Equal((second.From, second.To), Bounds(backlog.Next()));
        Assert.Equal(first.From, backlog.Oldest());
    }

    [Fact]
    public void An_uncertain_batch_waits_until_its_statement_should_have_ended()
    {
        var batch = acceptances.Begin(10);

        backlog.AddUncertain(batch);

        Assert.Equal(batch.From, backlog.Oldest());
        Assert.False(backlog.HasOverflow);
        Assert.Null(backlog.Next());
        clock.Advance(UncertainFor - Microsecond);
        Assert.Null(backlog.Next());
        clock.Advance(Microsecond);
        Assert.Equal((batch.From, batch.To), Bounds(backlog.Next()));
    }

    [Fact]
    public void An_uncertain_batch_is_looked_for_again_and_again_for_two_minutes()
    {
        var batch = acceptances.Begin(10);
        backlog.AddUncertain(batch);

        var began = clock.GetTimestamp();
        var looks = new List<double>();
        while (backlog.Oldest() is not null)
        {
            if (backlog.Next() is { } range)
            {
                looks.Add(clock.GetElapsedTime(began).TotalSeconds);
                backlog.Looked(range, clock.GetTimestamp());
            }

            clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal([6, 18, 42, 72, 102, 120], looks);
    }

    [Fact]
    public void A_range_that_grew_while_it_was_read_is_read_from_its_start_again()
    {
        backlog.AddUncertain(acceptances.Begin(10));
        clock.Advance(TimeSpan.FromMinutes(3));
        var read = backlog.Next()!;
        backlog.AddUncertain(acceptances.Begin(10));

        backlog.Looked(read, clock.GetTimestamp());

        Assert.Equal(read.From, backlog.Oldest());
        clock.Advance(UncertainFor);
        Assert.Equal(read.From, backlog.Next()!.From);
        Assert.Same(read.Search!.Loaded, backlog.Next()!.Search!.Loaded);
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
    public void Merged_uncertain_batches_wait_for_the_last_of_them()
    {
        backlog.AddUncertain(acceptances.Begin(10));
        clock.Advance(TimeSpan.FromSeconds(3));
        backlog.AddUncertain(acceptances.Begin(10));

        clock.Advance(UncertainFor - Microsecond);

        Assert.Null(backlog.Next());
        clock.Advance(Microsecond);
        Assert.NotNull(backlog.Next());
    }

    [Fact]
    public void What_was_read_is_not_read_again()
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
    public void What_is_merged_into_a_range_while_it_is_read_is_not_lost()
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

namespace PaymentGateway.Tests.Leasing;

public sealed class StoredBacklogTests
{
    private readonly FakeTimeProvider _clock = new();
    private readonly AcceptanceClock _acceptances;
    private readonly StoredBacklog _backlog;

    public StoredBacklogTests() =>
        (_acceptances, _backlog) = (new AcceptanceClock(_clock, DateTime.UnixEpoch), new StoredBacklog(_clock));

    // Batches 1 to 3 begin one after another: o is overflow, b is broken.
    [Theory]
    [InlineData("", "", null)]
    [InlineData("o1", "1", 1)]
    [InlineData("o1 o2", "1-2", 1)]
    [InlineData("o1 o3", "1 3", 1)] // The second is in memory: it is never inside a range.
    [InlineData("o2 o1", "2 1", 1)]
    [InlineData("b1", "", 1)]
    [InlineData("b1 o2", "2", 1)]
    public void Overflow_is_read_in_ranges_and_what_broke_is_left_to_the_next_epoch(
        string events, string expected, int? oldest)
    {
        var batches = new[] { _acceptances.Begin(10), _acceptances.Begin(10), _acceptances.Begin(10) };
        foreach (var one in events.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            var batch = batches[one[1] - '1'];
            if (one[0] == 'o')
                _backlog.Add(batch);
            else
                _backlog.AddBroken(batch);
        }

        Assert.Equal(oldest is { } number ? batches[number - 1].From : (DateTime?)null, _backlog.Oldest());
        Assert.Equal(expected.Length > 0, _backlog.HasOverflow);
        var read = new List<string>();
        while (_backlog.Next() is { } range)
        {
            var from = Array.FindIndex(batches, batch => batch.From == range.From) + 1;
            var to = Array.FindIndex(batches, batch => batch.To == range.To) + 1;
            read.Add(from == to ? $"{from}" : $"{from}-{to}");
            _backlog.Advance(range.To);
        }

        Assert.Equal(expected, string.Join(' ', read));
    }

    [Fact]
    public void A_range_that_was_read_is_not_read_again()
    {
        var batch = _acceptances.Begin(10);
        _backlog.Add(batch);

        _backlog.Advance(batch.At(3));

        Assert.Equal((batch.At(4), batch.To), Bounds(_backlog.Next()));
        Assert.Equal(batch.At(4), _backlog.Oldest());
        _backlog.Advance(batch.To);
        Assert.Null(_backlog.Next());
        Assert.False(_backlog.HasOverflow);
    }

    [Fact]
    public void A_batch_merged_into_a_range_while_that_is_read_is_not_lost()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);
        _backlog.Add(first);
        var range = _backlog.Next()!;

        _backlog.Add(second);
        _backlog.Advance(range.To);

        var rest = _backlog.Next()!;
        Assert.True(rest.From <= second.From);
        Assert.True(rest.From > first.To);
        Assert.Equal(second.To, rest.To);
    }

    private static (DateTime From, DateTime To) Bounds(StoredRange? range) => (range!.From, range.To);
}

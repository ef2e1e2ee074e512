namespace PaymentGateway.Tests.Leasing;

public sealed class AcceptanceClockTests
{
    private readonly WatchedClock _wall = new();
    private readonly AcceptanceClock _acceptances;

    public AcceptanceClockTests() => _acceptances = new AcceptanceClock(_wall, DateTime.UnixEpoch);

    [Fact]
    public void The_times_of_a_batch_begin_now_and_are_one_microsecond_apart()
    {
        var batch = _acceptances.Begin(3);

        Assert.Equal(_wall.GetUtcNow().UtcDateTime, batch.From);
        Assert.Equal(batch.From.AddMicroseconds(1), batch.At(1));
        Assert.Equal(batch.At(2), batch.To);
        Assert.Equal(DateTimeKind.Utc, batch.At(2).Kind);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(-1)]
    [InlineData(-3_600_000)]
    public void Acceptance_times_rise_whatever_the_wall_clock_does(int stepMs)
    {
        var before = _acceptances.Begin(5_000);
        _wall.WallShift = TimeSpan.FromMilliseconds(stepMs);

        var after = _acceptances.Begin(1);

        Assert.True(after.From > before.To);
        Assert.Equal(before.Number + 1, after.Number);
    }

    [Fact]
    public void Batches_of_many_threads_never_share_an_acceptance_time()
    {
        var batches = new AcceptanceBatch[1_000];

        Parallel.For(0, batches.Length, i => batches[i] = _acceptances.Begin(7));

        Array.Sort(batches, (one, other) => one.Number.CompareTo(other.Number));
        Assert.All(batches.Zip(batches.Skip(1)), pair => Assert.True(pair.Second.From > pair.First.To));
    }

    [Fact]
    public void No_batch_in_flight_or_to_come_is_earlier_than_the_oldest()
    {
        var first = _acceptances.Begin(10);
        var second = _acceptances.Begin(10);

        Assert.Equal(first.From, _acceptances.Oldest());
        _acceptances.End(first);
        Assert.Equal(second.From, _acceptances.Oldest());
        _acceptances.End(second);
        _wall.WallShift = TimeSpan.FromHours(-1);
        Assert.True(_acceptances.Oldest() <= _acceptances.Begin(1).From);
    }
}

namespace PaymentGateway.Tests.Recording;

public sealed class UnwrittenOutcomesTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Millisecond = TimeSpan.FromMilliseconds(1);

    private readonly Epoch _epoch = Batches.NewEpoch();
    private readonly FakeTimeProvider _clock = new();
    private readonly UnwrittenOutcomes _outcomes;
    private readonly List<Settlement> _batch = [];

    // An hour: what ends the lingering in these tests is never the time.
    public UnwrittenOutcomesTests() => _outcomes = new UnwrittenOutcomes(
        new RecordingOptions(TimeSpan.FromHours(1), 3, 4), _clock);

    [Fact]
    public async Task An_outcome_a_second_after_its_request_ends_the_lingering_for_the_whole_batch()
    {
        var young = Add(TimeSpan.FromSeconds(1) - Millisecond);
        var taking = TakeAsync();
        Assert.False(taking.IsCompleted);

        var late = Add(TimeSpan.FromSeconds(1));

        Assert.True(await taking.WaitAsync(Limit));
        Assert.Equal([young, late], _batch);
    }

    [Fact]
    public async Task A_late_outcome_that_comes_during_a_statement_is_in_the_next_one_without_lingering()
    {
        Add(TimeSpan.FromSeconds(2));
        Assert.True(await TakeAsync().WaitAsync(Limit));

        Add(TimeSpan.FromSeconds(2));
        _outcomes.Remove(_batch);
        _batch.Clear();

        Assert.True(await TakeAsync().WaitAsync(Limit));
    }

    [Fact]
    public async Task A_summary_waits_for_the_known_outcomes_of_its_window_and_ends_the_lingering()
    {
        Add(TimeSpan.Zero);
        var taking = TakeAsync();

        var written = _outcomes.WrittenAsync(null);

        Assert.True(await taking.WaitAsync(Limit));
        Assert.False(written.IsCompleted);
        _outcomes.Remove(_batch);
        await written.WaitAsync(Limit);
    }

    [Fact]
    public void A_summary_of_an_earlier_window_does_not_wait_and_lets_outcomes_linger()
    {
        var known = Add(TimeSpan.Zero);
        var taking = TakeAsync();

        Assert.True(_outcomes.WrittenAsync(known.RequestedAt - Millisecond).IsCompletedSuccessfully);
        Assert.False(_outcomes.WrittenAsync(known.RequestedAt).IsCompleted);
        Assert.True(new UnwrittenOutcomes(new RecordingOptions(TimeSpan.Zero, 3, 4), _clock)
            .WrittenAsync(null).IsCompletedSuccessfully);
        GC.KeepAlive(taking);
    }

    [Fact]
    public async Task A_summary_does_not_wait_for_outcomes_that_come_after_its_call()
    {
        Add(TimeSpan.FromSeconds(2));
        Assert.True(await TakeAsync().WaitAsync(Limit));
        var written = _outcomes.WrittenAsync(null);

        Add(TimeSpan.FromSeconds(2));
        _outcomes.Remove(_batch);

        await written.WaitAsync(Limit);
        Assert.Equal(1, _outcomes.Count);
    }

    [Fact]
    public async Task A_summary_waits_for_as_many_statements_as_its_known_outcomes_need()
    {
        for (var i = 0; i < 4; i++)
            Add(TimeSpan.Zero);
        var written = _outcomes.WrittenAsync(null);

        Assert.True(await TakeAsync().WaitAsync(Limit));
        _outcomes.Remove(_batch);
        _batch.Clear();
        Assert.False(written.IsCompleted);
        Assert.True(await TakeAsync().WaitAsync(Limit));
        Assert.Single(_batch);
        _outcomes.Remove(_batch);

        await written.WaitAsync(Limit);
    }

    [Fact]
    public void There_is_capacity_until_the_buffer_is_full_and_again_once_outcomes_are_written()
    {
        var first = Add(TimeSpan.FromSeconds(2));
        Add(TimeSpan.FromSeconds(2));
        Add(TimeSpan.FromSeconds(2));
        Assert.True(_outcomes.HasCapacity);

        Add(TimeSpan.Zero);
        Assert.False(_outcomes.HasCapacity);
        _outcomes.Remove([first]);

        Assert.True(_outcomes.HasCapacity);
    }

    [Fact]
    public async Task After_completion_the_rest_comes_out_at_once_and_then_nothing()
    {
        Add(TimeSpan.Zero);
        var taking = TakeAsync();

        _outcomes.Complete();

        Assert.True(await taking.WaitAsync(Limit));
        Assert.Single(_batch);
        Assert.False(await TakeAsync().WaitAsync(Limit));
    }

    private Settlement Add(TimeSpan age)
    {
        var requestedAt = _clock.GetUtcNow().UtcDateTime - age;
        var settlement = new Settlement(
            _epoch, new Payment(Guid.NewGuid(), 1990, Batches.Noon, 1), Known.Default, 1990, requestedAt);
        _outcomes.Add(settlement);
        return settlement;
    }

    private Task<bool> TakeAsync() => _outcomes.TakeAsync(_batch, CancellationToken.None).AsTask();
}

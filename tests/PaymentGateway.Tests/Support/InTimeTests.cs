using Xunit.Sdk;

namespace PaymentGateway.Tests.Support;

public sealed class InTimeTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(50);

    // A verdict that never comes is red as well.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly WatchedClock _clock = new();
    private readonly TaskCompletionSource<int> _call = new();

    [Theory]
    [InlineData(true, 2)]
    [InlineData(false, 20)]
    public async Task A_call_fails_that_outlasts_the_reference_call_after_the_limit_or_ten_limits(
        bool referenceEnds, int seconds)
    {
        var asked = false;
        var judged = JudgeAsync(over =>
        {
            asked = true;
            return referenceEnds ? Task.CompletedTask : Task.Delay(Timeout.Infinite, over);
        });

        await PassAsync(TimeSpan.FromSeconds(seconds) - Step, Step);
        Assert.False(judged.IsCompleted);
        Assert.Equal(seconds > Limit.TotalSeconds, asked);
        await PassAsync(Step, Step);

        var failed = await Assert.ThrowsAsync<TrueException>(() => judged.WaitAsync(Patience));
        Assert.StartsWith("it: not within 2 s", failed.Message, StringComparison.Ordinal);
        Assert.True(asked);
    }

    [Fact]
    public async Task A_call_that_ends_while_the_reference_call_is_late_as_well_is_in_time()
    {
        var judged = JudgeAsync(over =>
        {
            _call.SetResult(7);
            return Task.Delay(Timeout.Infinite, over);
        });

        await PassAsync(Limit, Step);

        Assert.Equal(7, await judged.WaitAsync(Patience));
    }

    [Fact]
    public async Task A_reference_call_that_fails_fails_the_test()
    {
        var judged = JudgeAsync(_ => Task.FromException(new IOException()));

        await PassAsync(Limit, Step);

        await Assert.ThrowsAsync<IOException>(() => judged.WaitAsync(Patience));
    }

    [Fact]
    public async Task A_pause_of_the_whole_machine_does_not_count_as_time_of_the_call_and_needs_no_reference_call()
    {
        var judged = JudgeAsync(_ => throw new InvalidOperationException("The limit has not passed."));

        await PassAsync(TimeSpan.FromSeconds(1.5), Step);
        await PassAsync(TimeSpan.FromMinutes(1), TimeSpan.FromMinutes(1));
        await Eventually.HoldsAsync(() => _clock.ArmedTimers == 1 || judged.IsCompleted, "the rest is waited for");
        _call.SetResult(7);

        Assert.Equal(7, await judged);
    }

    private Task<int> JudgeAsync(Func<CancellationToken, Task> reference) =>
        InTime.EndsAsync(Limit, _call.Task, reference, "it", _clock);

    private async Task PassAsync(TimeSpan time, TimeSpan step)
    {
        for (var passed = TimeSpan.Zero; passed < time; passed += step)
        {
            await Eventually.HoldsAsync(() => _clock.ArmedTimers == 1, "the next step is waited for");
            _clock.Advance(step);
        }
    }
}

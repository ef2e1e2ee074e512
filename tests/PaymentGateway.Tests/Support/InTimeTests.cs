using Xunit.Sdk;

namespace PaymentGateway.Tests.Support;

public sealed class InTimeTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMilliseconds(20);

    // A verdict that never comes is red as well.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task A_call_that_outlasts_the_limit_and_the_reference_call_fails()
    {
        var call = new TaskCompletionSource<int>();

        var failed = await Assert.ThrowsAsync<TrueException>(
            () => InTime.EndsAsync(Limit, call.Task, _ => Task.CompletedTask, "it").WaitAsync(Patience));

        Assert.StartsWith("it: not within 0.02 s", failed.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_call_that_ends_while_the_reference_call_is_late_as_well_is_in_time()
    {
        var call = new TaskCompletionSource<int>();

        var answer = await InTime.EndsAsync(
            Limit,
            call.Task,
            over =>
            {
                call.SetResult(7);
                return Task.Delay(Timeout.Infinite, over);
            },
            "it");

        Assert.Equal(7, answer);
    }

    [Fact]
    public async Task A_call_that_outlasts_ten_limits_fails_however_late_the_reference_call_is()
    {
        var clock = new WatchedClock();
        var call = new TaskCompletionSource<int>();
        var judged = InTime.EndsAsync(
            TimeSpan.FromSeconds(2), call.Task, over => Task.Delay(Timeout.Infinite, over), "it", clock);

        await PassAsync(clock, TimeSpan.FromSeconds(19.95), TimeSpan.FromMilliseconds(50));
        Assert.False(judged.IsCompleted);
        await PassAsync(clock, TimeSpan.FromMilliseconds(50), TimeSpan.FromMilliseconds(50));

        var failed = await Assert.ThrowsAsync<TrueException>(() => judged.WaitAsync(Patience));
        Assert.StartsWith("it: not within 2 s", failed.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_reference_call_that_fails_fails_the_test()
    {
        var call = new TaskCompletionSource<int>();
        var broken = new IOException();

        var failed = await Assert.ThrowsAsync<IOException>(
            () => InTime.EndsAsync(Limit, call.Task, _ => Task.FromException(broken), "it"));

        Assert.Same(broken, failed);
    }

    [Fact]
    public async Task A_call_that_ends_within_the_limit_needs_no_reference_call()
    {
        var answer = await InTime.EndsAsync(
            TimeSpan.FromHours(1), Task.FromResult(7), _ => throw new InvalidOperationException(), "it");

        Assert.Equal(7, answer);
    }

    [Fact]
    public async Task A_pause_of_the_whole_machine_does_not_count_as_time_of_the_call()
    {
        var clock = new WatchedClock();
        var call = new TaskCompletionSource<int>();
        var limit = TimeSpan.FromSeconds(2);
        var judged = InTime.EndsAsync(
            limit, call.Task, _ => throw new InvalidOperationException("The limit has not passed."), "it", clock);

        await PassAsync(clock, TimeSpan.FromSeconds(1.5), TimeSpan.FromMilliseconds(50));
        await PassAsync(clock, TimeSpan.FromMinutes(1), TimeSpan.FromMinutes(1));
        await Eventually.HoldsAsync(() => clock.ArmedTimers == 1 || judged.IsCompleted, "the rest is waited for");
        call.SetResult(7);

        Assert.Equal(7, await judged);
    }

    [Fact]
    public async Task Without_a_pause_the_limit_is_kept_to_the_step()
    {
        var clock = new WatchedClock();
        var call = new TaskCompletionSource<int>();
        var asked = false;
        var judged = InTime.EndsAsync(
            TimeSpan.FromSeconds(2),
            call.Task,
            _ =>
            {
                asked = true;
                return Task.CompletedTask;
            },
            "it",
            clock);

        await PassAsync(clock, TimeSpan.FromSeconds(1.95), TimeSpan.FromMilliseconds(50));
        Assert.False(asked);
        await PassAsync(clock, TimeSpan.FromMilliseconds(50), TimeSpan.FromMilliseconds(50));

        await Assert.ThrowsAsync<TrueException>(() => judged.WaitAsync(Patience));
        Assert.True(asked);
    }

    private static async Task PassAsync(WatchedClock clock, TimeSpan time, TimeSpan step)
    {
        for (var passed = TimeSpan.Zero; passed < time; passed += step)
        {
            await Eventually.HoldsAsync(() => clock.ArmedTimers == 1, "the next step is waited for");
            clock.Advance(step);
        }
    }
}

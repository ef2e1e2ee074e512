using Xunit.Sdk;

namespace PaymentGateway.Tests.Support;

public sealed class InTimeTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMilliseconds(20);

    [Fact]
    public async Task A_call_that_outlasts_the_limit_and_the_yardstick_fails()
    {
        var call = new TaskCompletionSource<int>();

        var failed = await Assert.ThrowsAsync<TrueException>(
            () => InTime.EndsAsync(Limit, call.Task, _ => Task.CompletedTask, "it"));

        Assert.StartsWith("it: not within 0.02 s", failed.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_call_that_ends_while_the_yardstick_is_late_as_well_is_in_time()
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
    public async Task A_call_that_outlasts_ten_limits_fails_however_late_the_yardstick_is()
    {
        var call = new TaskCompletionSource<int>();

        var failed = await Assert.ThrowsAsync<TrueException>(
            () => InTime.EndsAsync(Limit, call.Task, over => Task.Delay(Timeout.Infinite, over), "it")
                .WaitAsync(TimeSpan.FromSeconds(20)));

        Assert.StartsWith("it: not within 0.02 s", failed.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_yardstick_that_fails_is_the_tests_failure()
    {
        var call = new TaskCompletionSource<int>();
        var broken = new IOException();

        var failed = await Assert.ThrowsAsync<IOException>(
            () => InTime.EndsAsync(Limit, call.Task, _ => Task.FromException(broken), "it"));

        Assert.Same(broken, failed);
    }

    [Fact]
    public async Task A_call_that_ends_within_the_limit_needs_no_yardstick()
    {
        var answer = await InTime.EndsAsync(
            TimeSpan.FromHours(1), Task.FromResult(7), _ => throw new InvalidOperationException(), "it");

        Assert.Equal(7, answer);
    }
}


namespace PaymentGateway.Tests.Queueing;

public sealed class BatchTimerTests
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task An_idle_timer_waits_a_whole_period_and_so_does_one_from_tick_to_tick()
    {
        using var timer = new BatchTimer(Period, "test");
        var since = Stopwatch.GetTimestamp();

        for (var tick = 0; tick < 4; tick++)
            await timer.NextAsync().AsTask().WaitAsync(Limit);

        // A sleep may end a moment early by the other clock.
        Assert.True(Stopwatch.GetElapsedTime(since) > 4 * 0.9 * Period);
    }

    [Fact]
    public async Task The_timer_goes_idle_after_a_tick_that_nobody_awaited_and_then_begins_a_whole_period()
    {
        using var timer = new BatchTimer(Period, "test");

        // Again, because a starved thread ticks late and then is not at rest when it should be.
        await Eventually.HoldsAsync(
            async () =>
            {
                await timer.NextAsync();
                await Task.Delay(2.5 * Period);
                var since = Stopwatch.GetTimestamp();
                await timer.NextAsync();
                return Stopwatch.GetElapsedTime(since) > 0.9 * Period;
            },
            "a whole period from a rest on");
    }

    [Fact]
    public async Task All_waiters_continue_in_the_timers_thread_at_the_same_tick()
    {
        using var timer = new BatchTimer(TimeSpan.FromSeconds(1), "test");

        // A hundred ticks would outlast the limit.
        var threads = await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => Task.Run(async () =>
        {
            await timer.NextAsync();
            return Thread.CurrentThread.Name;
        }))).WaitAsync(Limit);

        Assert.All(threads, thread => Assert.Equal("test", thread));
    }

    [Fact]
    public async Task With_a_period_of_zero_nobody_waits()
    {
        using var timer = new BatchTimer(TimeSpan.Zero, "test");

        await timer.NextAsync();
        Assert.True(timer.NextAsync().AsTask().IsCompletedSuccessfully);
    }

    [Fact]
    public async Task A_disposed_timer_gives_the_awaited_tick_and_no_later_one_and_ends_its_thread()
    {
        const string Name = "disposed-timer";
        var timer = new BatchTimer(Period, Name);
        await Eventually.HoldsAsync(() => HasThread(Name), "the thread begins");
        var awaited = timer.NextAsync().AsTask();

        timer.Dispose();

        await awaited.WaitAsync(Limit);
        Assert.True(timer.NextAsync().AsTask().IsCompletedSuccessfully);
        await Eventually.HoldsAsync(() => !HasThread(Name), "the thread ends");
    }

    [Fact]
    public async Task Firing_now_ends_the_present_wait_and_the_timer_is_idle_afterwards()
    {
        using var timer = new BatchTimer(TimeSpan.FromHours(1), "test");
        for (var i = 0; i < 3; i++)
        {
            var awaited = timer.NextAsync().AsTask();
            Assert.False(awaited.IsCompleted);

            timer.FireNow();

            await awaited.WaitAsync(Limit);
        }
    }

    [Fact]
    public async Task Firing_now_while_nobody_waits_lets_the_next_waiter_pass_whether_the_timer_is_idle_or_ticks()
    {
        using var resting = new BatchTimer(TimeSpan.FromHours(1), "test");
        resting.FireNow();
        Assert.True(resting.NextAsync().AsTask().IsCompletedSuccessfully);

        // After a tick it goes on for one that nobody waits for; a hurry ends that one, and is not used up by it.
        var ticking = resting.NextAsync().AsTask();
        resting.FireNow();
        await ticking.WaitAsync(Limit);
        resting.FireNow();
        await resting.NextAsync().AsTask().WaitAsync(Limit);
        Assert.False(resting.NextAsync().AsTask().IsCompleted);
    }

    private static bool HasThread(string name) =>
        Directory.GetDirectories("/proc/self/task").Any(thread => NameOf(thread) == name);

    private static string? NameOf(string thread)
    {
        try
        {
            return File.ReadAllText($"{thread}/comm").TrimEnd();
        }
        catch (IOException)
        {
            return null;  // it has just ended
        }
    }
}

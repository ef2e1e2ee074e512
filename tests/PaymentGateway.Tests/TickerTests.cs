using System.Diagnostics;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests;

public sealed class TickerTests
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(50);

    [Fact]
    public async Task At_rest_the_wait_is_a_whole_period_and_so_is_every_one_from_tick_to_tick()
    {
        using var ticker = new Ticker(Period, "test");
        var since = Stopwatch.GetTimestamp();

        for (var tick = 0; tick < 4; tick++)
            await ticker.NextAsync();

        // A sleep may end a moment early by the other clock.
        Assert.True(Stopwatch.GetElapsedTime(since) > 4 * 0.9 * Period);
    }

    [Fact]
    public async Task A_rest_ends_when_somebody_waits()
    {
        using var ticker = new Ticker(Period, "test");
        await ticker.NextAsync();

        await Task.Delay(3 * Period);

        await ticker.NextAsync();
    }

    [Fact]
    public async Task Who_comes_while_it_ticks_shares_the_tick()
    {
        using var ticker = new Ticker(Period, "test");

        await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => Task.Run(ticker.NextAsync)));

        var one = ticker.NextAsync();
        Assert.Same(one, ticker.NextAsync());
        await one;
    }

    [Fact]
    public async Task Without_a_period_nobody_waits()
    {
        using var ticker = new Ticker(TimeSpan.Zero, "test");

        await ticker.NextAsync();
        Assert.True(ticker.NextAsync().IsCompletedSuccessfully);
    }

    [Fact]
    public async Task Disposed_it_gives_the_tick_that_is_awaited_no_later_one_and_ends_its_thread()
    {
        const string Name = "disposed-ticker";
        var ticker = new Ticker(Period, Name);
        await Eventually.HoldsAsync(() => HasThread(Name), "the thread begins");
        var awaited = ticker.NextAsync();

        ticker.Dispose();

        await awaited;
        Assert.True(ticker.NextAsync().IsCompletedSuccessfully);
        await Eventually.HoldsAsync(() => !HasThread(Name), "the thread ends");
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

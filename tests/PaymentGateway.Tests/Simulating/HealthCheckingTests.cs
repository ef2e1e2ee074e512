using ProcessorSimulator.HealthChecking;

namespace PaymentGateway.Tests.Simulating;

public sealed class HealthCheckingTests : OneSimulator
{
    private static readonly TimeSpan Window = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task Two_early_calls_wait_for_their_windows_and_a_third_gets_429()
    {
        using var first = await Simulator.Client.CheckHealthAsync();
        var early = Enumerable.Range(0, 3).Select(_ => Simulator.Client.CheckHealthAsync()).ToList();

        // One is refused only when two are queued, so from here on both of them are.
        var refused = await Task.WhenAny(early);
        early.Remove(refused);
        Assert.Equal(HttpStatusCode.TooManyRequests, (await refused).StatusCode);
        Assert.Equal("5", (await refused).Headers.GetValues("Retry-After").Single());
        Clock.Advance(Window);
        var second = await Task.WhenAny(early);
        early.Remove(second);
        Assert.Equal(HttpStatusCode.OK, (await second).StatusCode);
        Assert.False(early.Single().IsCompleted);
        Clock.Advance(Window);
        Assert.Equal(HttpStatusCode.OK, (await early.Single()).StatusCode);

        // The payments' limiter did not refuse it, so it is not counted there.
        Assert.Equal(0, (await Simulator.CallsAsync()).Refused429);
    }

    [Fact]
    public async Task A_caller_that_leaves_the_queue_makes_way_for_another()
    {
        using var window = new HealthWindow(Clock);
        using var hangUp = new CancellationTokenSource();
        Assert.True(await window.AcquireAsync(default));
        var leaving = window.AcquireAsync(hangUp.Token).AsTask();
        var staying = window.AcquireAsync(default).AsTask();
        Assert.False(await window.AcquireAsync(default));

        await hangUp.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => leaving);
        var late = window.AcquireAsync(default).AsTask();
        Clock.Advance(Window);

        Assert.True(await staying.WaitAsync(Deadline));
        Assert.False(late.IsCompleted);
        Clock.Advance(Window);
        Assert.True(await late.WaitAsync(Deadline));
    }

    [Fact]
    public async Task Unused_windows_are_not_saved_up()
    {
        using var window = new HealthWindow(Clock);
        Assert.True(await window.AcquireAsync(default));
        Clock.Advance(Window * 4.5);

        Assert.True(await window.AcquireAsync(default));
        var early = window.AcquireAsync(default).AsTask();
        Assert.False(early.IsCompleted);
        Clock.Advance(Window / 2);
        Assert.True(await early.WaitAsync(Deadline));
    }
}

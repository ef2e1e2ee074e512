namespace PaymentGateway.Tests.Support;

/// <summary>Holds a promise with a time in it against a reference call that a busy machine stretches as well.</summary>
public static class InTime
{
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(50);

    // Not a part of what is tested: a stalled instance must not excuse itself.
    private static readonly Lazy<Task<SimulatedProcessor>> Stub = new(() => SimulatedProcessor.StartAsync());

    /// <summary>The overload below with a reference call to an HTTP server of the test's own.</summary>
    public static async Task<T> EndsAsync<T>(TimeSpan limit, Task<T> call, string what)
    {
        var stub = await Stub.Value;
        return await EndsAsync(limit, call, over => stub.Client.GetAsync("payments/service-health", over), what);
    }

    /// <summary>
    /// Fails unless the call ends before a simple one, the reference call, that begins when the limit has passed,
    /// and in ten times the limit however long that takes. A reference call that fails has measured nothing: it is
    /// thrown.
    /// </summary>
    public static async Task<T> EndsAsync<T>(
        TimeSpan limit, Task<T> call, Func<CancellationToken, Task> reference, string what, TimeProvider? clock = null)
    {
        using var over = new CancellationTokenSource();
        var later = LaterAsync();
        var first = await Task.WhenAny(call, later);
        await over.CancelAsync();

        if (first == later)
            await later;
        Assert.True(first == call, $"{what}: not within {limit.TotalSeconds} s and a call begun then, or 10 times it");
        return await call;

        async Task LaterAsync()
        {
            await PassAsync(limit, clock ?? TimeProvider.System, over.Token);
            await await Task.WhenAny(
                reference(over.Token), PassAsync(9 * limit, clock ?? TimeProvider.System, over.Token));
        }
    }

    // A pause of the whole process, however long, counts as two steps: it has held up the call as well, and a reference
    // that begins together with the rest of it would win.
    private static async Task PassAsync(TimeSpan time, TimeProvider clock, CancellationToken over)
    {
        while (time > TimeSpan.Zero)
        {
            var began = clock.GetTimestamp();
            await Task.Delay(time < Step ? time : Step, clock, over);
            var took = clock.GetElapsedTime(began);
            time -= took < 2 * Step ? took : 2 * Step;
        }
    }
}

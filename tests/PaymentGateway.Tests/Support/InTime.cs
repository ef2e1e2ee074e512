namespace PaymentGateway.Tests.Support;

/// <summary>Holds a promise with a time in it against a yardstick that a busy machine stretches as well.</summary>
public static class InTime
{
    /// <summary>
    /// Fails unless the call ends before a simple one, the yardstick, that begins when the limit has passed.
    /// </summary>
    public static async Task<T> EndsAsync<T>(
        TimeSpan limit, Task<T> call, Func<CancellationToken, Task> yardstick, string what)
    {
        using var over = new CancellationTokenSource();
        var later = LaterAsync();
        var first = await Task.WhenAny(call, later);
        await over.CancelAsync();

        Assert.True(first == call, $"{what}: not within {limit.TotalSeconds} s and a call that was begun then");
        return await call;

        async Task LaterAsync()
        {
            await Task.Delay(limit, over.Token);
            await yardstick(over.Token);
        }
    }
}

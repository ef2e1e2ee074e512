namespace PaymentGateway.Tests.Support;

/// <summary>Holds a promise with a time in it against a yardstick that a busy machine stretches as well.</summary>
public static class InTime
{
    /// <summary>
    /// Fails unless the call ends before a simple one, the yardstick, that begins when the limit has passed,
    /// and in ten times the limit however long that takes. A yardstick that fails has measured nothing: it is thrown.
    /// </summary>
    public static async Task<T> EndsAsync<T>(
        TimeSpan limit, Task<T> call, Func<CancellationToken, Task> yardstick, string what)
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
            await Task.Delay(limit, over.Token);
            await await Task.WhenAny(yardstick(over.Token), Task.Delay(9 * limit, over.Token));
        }
    }
}

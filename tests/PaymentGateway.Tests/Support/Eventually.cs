using System.Diagnostics;

namespace PaymentGateway.Tests.Support;

/// <summary>Waits for a condition with a deadline, for what happens on other threads or in other programs.</summary>
public static class Eventually
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(20);

    public static Task HoldsAsync(Func<bool> condition, string what) =>
        HoldsAsync(() => Task.FromResult(condition()), what);

    public static async Task HoldsAsync(Func<Task<bool>> condition, string what)
    {
        var waited = Stopwatch.StartNew();
        while (!await condition())
        {
            Assert.True(waited.Elapsed < Deadline, $"Waited {Deadline.TotalSeconds} s in vain for: {what}");
            await Task.Delay(5);
        }
    }
}

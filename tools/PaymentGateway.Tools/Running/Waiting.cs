namespace PaymentGateway.Tools.Running;

/// <summary>Waits for a condition that can only be asked for again and again.</summary>
internal static class Waiting
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(10);

    /// <summary>False when it did not come to hold in time.</summary>
    public static async Task<bool> HoldsAsync(
        TimeSpan limit, Func<Task<bool>> condition, CancellationToken cancellation = default)
    {
        var waited = Stopwatch.StartNew();
        while (!await condition())
        {
            if (waited.Elapsed >= limit)
                return false;
            await Task.Delay(Interval, cancellation);
        }

        return true;
    }

    public static Task UntilAsync(Func<bool> holds, CancellationToken cancellation = default) =>
        HoldsAsync(TimeSpan.MaxValue, () => Task.FromResult(holds()), cancellation);
}

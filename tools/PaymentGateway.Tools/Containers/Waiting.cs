using System.Diagnostics;

namespace PaymentGateway.Tools.Containers;

/// <summary>Waits for a condition, with a limit.</summary>
internal static class Waiting
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    /// <summary>False when it did not come to hold in time.</summary>
    public static async Task<bool> HoldsAsync(
        TimeSpan limit, Func<Task<bool>> condition, CancellationToken cancellation = default)
    {
        var waited = Stopwatch.StartNew();
        while (!await condition())
        {
            if (waited.Elapsed >= limit)
                return false;
            await Task.Delay(PollInterval, cancellation);
        }

        return true;
    }
}

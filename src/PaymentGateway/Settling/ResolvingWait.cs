namespace PaymentGateway.Settling;

/// <summary>How long a payment in doubt waits for its next try. Safe from any thread.</summary>
internal sealed class ResolvingWait
{
    private static readonly TimeSpan Maximum = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan BetweenAny = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan HorizonSpread = TimeSpan.FromSeconds(1);

    private readonly Random _jitter = new(Environment.ProcessId);

    /// <summary>So long that all together ask a processor 500 times a second; the jitter takes half of it.</summary>
    public static TimeSpan Longest(int count) =>
        BetweenAny * 2 * count is var wait && wait > Maximum ? wait : Maximum;

    /// <summary>The first look-up past the horizon may resolve it, so no wait goes far beyond.</summary>
    /// <param name="delay">The longest wait.</param>
    /// <param name="untilHorizon">Zero or less when it has passed.</param>
    public TimeSpan Next(TimeSpan delay, TimeSpan untilHorizon)
    {
        var wait = Jittered(delay);
        return untilHorizon > TimeSpan.Zero && wait > untilHorizon ? untilHorizon + Jittered(HorizonSpread) : wait;
    }

    // Full jitter: those that fell into doubt together must not come back together.
    private TimeSpan Jittered(TimeSpan delay)
    {
        lock (_jitter)
            return delay * _jitter.NextDouble();
    }
}

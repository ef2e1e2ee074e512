namespace PaymentGateway.Processors;

/// <summary>
/// How many charges may be in flight at one processor: grows while they go well, halves when the processor is
/// overloaded (additive increase, multiplicative decrease, with a slow start as in RFC 5681). Safe from any thread.
/// </summary>
/// <remarks>The framework's ConcurrencyLimiter cannot change its limit.</remarks>
/// <param name="clock">Its monotonic time counts.</param>
/// <param name="most">The largest limit.</param>
internal sealed class ConcurrencyLimit(TimeProvider clock, int most)
{
    private const double Least = 4;

    // A processor's configured delay is not congestion, so latency is compared with the best of the last seconds.
    private static readonly TimeSpan BestKept = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Tolerance = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan BetweenDecreases = TimeSpan.FromMilliseconds(250);

    private readonly object gate = new();
    private double limit = Math.Min(16, most);
    private bool slowStart = true;
    private int inFlight;
    private TimeSpan best = TimeSpan.MaxValue;
    private TimeSpan bestBefore = TimeSpan.MaxValue;
    private long bestSince;
    private long decreasedAt;
    private long? refusedAt;

    /// <summary>The limit of this moment.</summary>
    public int Current
    {
        get
        {
            lock (gate)
                return (int)limit;
        }
    }

    /// <summary>Takes a permit, or says no.</summary>
    public bool TryAcquire()
    {
        lock (gate)
        {
            if (inFlight >= (int)limit)
            {
                refusedAt = clock.GetTimestamp();
                return false;
            }

            inFlight++;
            return true;
        }
    }

    /// <summary>Gives the permit back.</summary>
    /// <param name="latency">How long the call took when it went well, else null.</param>
    /// <param name="overloaded">The processor said 429, or did not answer in time.</param>
    public void Release(TimeSpan? latency, bool overloaded)
    {
        lock (gate)
        {
            inFlight--;
            var now = clock.GetTimestamp();
            if (overloaded || (latency is { } took && IsCongested_NeedsLock(took, now)))
                Decrease_NeedsLock(now);
            else if (latency is { } flight && WasRefused_NeedsLock(flight, now))
                limit = Math.Min(most, limit + (slowStart ? 1 : 1 / limit));
        }
    }

    // Not whether all permits are taken at this moment: charges begin together, and most answers find some left.
    private bool WasRefused_NeedsLock(TimeSpan during, long now) =>
        refusedAt is { } at && clock.GetElapsedTime(at, now) <= during;

    private bool IsCongested_NeedsLock(TimeSpan took, long now)
    {
        if (clock.GetElapsedTime(bestSince, now) > BestKept)
        {
            bestBefore = best;
            best = TimeSpan.MaxValue;
            bestSince = now;
        }

        if (took < best)
            best = took;

        var reference = best < bestBefore ? best : bestBefore;
        return took > reference * 2 + Tolerance;
    }

    private void Decrease_NeedsLock(long now)
    {
        // One decrease per burst: the calls already in flight tell of the same congestion.
        if (decreasedAt != 0 && clock.GetElapsedTime(decreasedAt, now) < BetweenDecreases)
            return;

        slowStart = false;
        limit = Math.Max(Math.Min(Least, most), limit / 2);
        decreasedAt = now;
    }
}

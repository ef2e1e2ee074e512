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

    private static readonly TimeSpan BetweenDecreases = TimeSpan.FromMilliseconds(250);

    private readonly object _gate = new();
    private double _limit = Math.Min(16, most);
    private bool _slowStart = true;
    private int _inFlight;
    private long _decreasedAt;
    private long? _refusedAt;

    /// <summary>Permits taken at this moment.</summary>
    public int InFlight => Volatile.Read(ref _inFlight);

    /// <summary>The limit of this moment.</summary>
    public int Current => (int)Volatile.Read(ref _limit);

    /// <summary>Takes a permit, or says no.</summary>
    public bool TryAcquire()
    {
        lock (_gate)
        {
            if (_inFlight >= (int)_limit)
            {
                _refusedAt = clock.GetTimestamp();
                return false;
            }

            _inFlight++;
            return true;
        }
    }

    /// <summary>Gives the permit back.</summary>
    /// <param name="latency">How long the call took when it went well, else null.</param>
    /// <param name="overloaded">The processor said 429, or did not answer in time.</param>
    public void Release(TimeSpan? latency, bool overloaded)
    {
        lock (_gate)
        {
            _inFlight--;
            var now = clock.GetTimestamp();
            // A longer latency alone is no overload: a processor's delay changes by itself, and a halved limit then
            // leaves a backlog.
            if (overloaded)
                Decrease_NeedsLock(now);
            else if (latency is { } flight && WasRefused_NeedsLock(flight, now))
                _limit = Math.Min(most, _limit + (_slowStart ? 1 : 1 / _limit));
        }
    }

    // Not whether all permits are taken at this moment: charges begin together, and most answers find some left.
    private bool WasRefused_NeedsLock(TimeSpan during, long now) =>
        _refusedAt is { } at && clock.GetElapsedTime(at, now) <= during;

    private void Decrease_NeedsLock(long now)
    {
        // One decrease per burst: the calls already in flight tell of the same congestion.
        if (_decreasedAt != 0 && clock.GetElapsedTime(_decreasedAt, now) < BetweenDecreases)
            return;

        _slowStart = false;
        _limit = Math.Max(Math.Min(Least, most), _limit / 2);
        _decreasedAt = now;
    }
}

namespace PaymentGateway.Charging;

/// <summary>
/// How many charges may be in flight at one processor: grows while they go well, halves when the processor is
/// overloaded (additive increase, multiplicative decrease, with a slow start as in RFC 5681). Safe from any thread.
/// </summary>
/// <remarks>The framework's ConcurrencyLimiter cannot change its limit.</remarks>
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

    public int InFlight => Volatile.Read(ref _inFlight);

    public int Current => (int)Volatile.Read(ref _limit);

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

    /// <param name="latency">Null when the call failed.</param>
    /// <param name="overloaded">The processor answered 429, or not in time.</param>
    public void Release(TimeSpan? latency, bool overloaded)
    {
        lock (_gate)
        {
            _inFlight--;
            var now = clock.GetTimestamp();
            // A longer latency alone is no overload: a processor's delay changes by itself, and a halved limit would
            // then build up a backlog.
            if (overloaded)
                Decrease_NeedsLock(now);
            else if (latency is { } flight && WasRefused_NeedsLock(flight, now))
                _limit = Math.Min(most, _limit + (_slowStart ? 1 : 1 / _limit));
        }
    }

    // Permits that are free now do not count: charges begin together, so most answers find some free.
    private bool WasRefused_NeedsLock(TimeSpan during, long now) =>
        _refusedAt is { } at && clock.GetElapsedTime(at, now) <= during;

    private void Decrease_NeedsLock(long now)
    {
        // One decrease per burst, because the calls already in flight meet the same congestion.
        if (_decreasedAt != 0 && clock.GetElapsedTime(_decreasedAt, now) < BetweenDecreases)
            return;

        _slowStart = false;
        _limit = Math.Max(Math.Min(Least, most), _limit / 2);
        _decreasedAt = now;
    }
}

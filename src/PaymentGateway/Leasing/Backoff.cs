namespace PaymentGateway.Leasing;

/// <summary>Delays between tries; each is twice the one before. One loop may use it.</summary>
internal sealed class Backoff(TimeSpan initial)
{
    private TimeSpan _next = initial;

    /// <summary>Returns the next delay, and doubles the one after it up to <paramref name="maximum"/>.</summary>
    public TimeSpan Next(TimeSpan maximum)
    {
        var delay = _next;
        _next = delay * 2 < maximum ? delay * 2 : maximum;
        return delay;
    }
}

namespace PaymentGateway.Queueing;

/// <summary>The delays between tries: the initial one first, each twice the one before. For one loop.</summary>
internal sealed class Backoff(TimeSpan initial)
{
    private TimeSpan _next = initial;

    /// <summary>The delay before the next try; those that follow are at most <paramref name="maximum"/>.</summary>
    public TimeSpan Next(TimeSpan maximum)
    {
        var delay = _next;
        _next = delay * 2 < maximum ? delay * 2 : maximum;
        return delay;
    }
}

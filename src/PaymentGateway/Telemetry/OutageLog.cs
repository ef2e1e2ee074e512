namespace PaymentGateway.Telemetry;

/// <summary>
/// Has an outage logged once: its first failure at a level of its own, the others at Debug, because clients and
/// retries would repeat it. Any thread.
/// </summary>
internal sealed class OutageLog
{
    private volatile bool _lasts;

    /// <param name="first">The level of an outage's first failure.</param>
    /// <returns>The level of this failure.</returns>
    public LogLevel Fail(LogLevel first)
    {
        var level = _lasts ? LogLevel.Debug : first;
        _lasts = true;
        return level;
    }

    /// <returns>Whether an outage has ended with this success.</returns>
    public bool Succeed()
    {
        var ended = _lasts;
        _lasts = false;
        return ended;
    }
}

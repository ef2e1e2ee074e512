namespace PaymentGateway.Hosting.Telemetry;

/// <summary>Logs an outage once, because clients and retries would repeat it. Any thread.</summary>
internal sealed class OutageLog
{
    private volatile bool _lasts;

    /// <returns>The level of this failure: the given one for the first of an outage, Debug for the others.</returns>
    public LogLevel Fail(LogLevel first)
    {
        var level = _lasts ? LogLevel.Debug : first;
        _lasts = true;
        return level;
    }

    /// <returns>Whether an outage has ended.</returns>
    public bool Succeed()
    {
        var ended = _lasts;
        _lasts = false;
        return ended;
    }
}

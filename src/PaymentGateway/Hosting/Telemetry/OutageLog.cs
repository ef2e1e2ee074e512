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

    /// <summary>Repeats work until a stop, with a pause after each run. A failure does not end the loop.</summary>
    /// <param name="report">Logs a failure: at Warning the first one of an outage, at Debug the others.</param>
    public async Task RepeatAsync(
        Func<Task> workAsync, TimeSpan pause, Action<LogLevel, string> report, TimeProvider clock,
        CancellationToken stopping)
    {
        for (; ; await Task.Delay(pause, clock, stopping))
            try
            {
                await workAsync();
                Succeed();
            }
            catch (Exception failed)
                when (failed is not OperationCanceledException || !stopping.IsCancellationRequested)
            {
                report(Fail(LogLevel.Warning), failed.Message);
            }
    }
}

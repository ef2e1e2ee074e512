using PaymentGateway.Timing;

namespace PaymentGateway.Leasing;

/// <summary>
/// Gives every payment its own acceptance time: strictly rising in this process, whatever the wall clock does, so
/// that ranges of it name batches. Safe from any thread.
/// </summary>
internal sealed class AcceptanceClock(TimeProvider clock)
{
    private readonly object gate = new();
    private readonly Dictionary<long, DateTime> inFlight = [];
    private DateTime last = DateTime.UnixEpoch;
    private long lastNumber;

    /// <summary>Begins a batch: the times from its From on, one microsecond apart.</summary>
    public AcceptanceBatch Begin(int count)
    {
        lock (gate)
        {
            var next = last.AddTicks(TimeSpan.TicksPerMicrosecond);
            var now = clock.UtcMicroseconds();
            var from = now > next ? now : next;
            last = from.AddTicks((count - 1) * TimeSpan.TicksPerMicrosecond);
            inFlight.Add(++lastNumber, from);
            return new AcceptanceBatch(lastNumber, from, last);
        }
    }

    /// <summary>Ends a batch, once its payments are in memory or noted in the backlog.</summary>
    public void End(AcceptanceBatch batch)
    {
        lock (gate)
            inFlight.Remove(batch.Number);
    }

    /// <summary>No batch in flight or to come has an earlier time.</summary>
    public DateTime Oldest()
    {
        lock (gate)
            return inFlight.Count == 0 ? last : inFlight.Values.Min();
    }
}

/// <summary>A batch of acceptances; both times are inclusive, UTC, whole microseconds.</summary>
internal readonly record struct AcceptanceBatch(long Number, DateTime From, DateTime To)
{
    /// <summary>The time of the payment at this index.</summary>
    public DateTime At(int index) => From.AddTicks(index * TimeSpan.TicksPerMicrosecond);
}

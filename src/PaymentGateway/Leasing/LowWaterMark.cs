namespace PaymentGateway.Leasing;

/// <summary>
/// Every payment that this instance took before this time is settled, parked or owned by another instance, so an
/// adopter searches from here. Safe from any thread.
/// </summary>
internal sealed class LowWaterMark(
    AcceptanceClock acceptances, StoredBacklog backlog, UnsettledPayments unsettled)
{
    private volatile object? _adoptingFrom;

    /// <summary>The oldest time of the page that is being adopted; null while none is.</summary>
    public DateTime? AdoptingFrom => (DateTime?)_adoptingFrom;

    /// <summary>Begins an adoption of payments that are not older than <paramref name="from"/> (UTC).</summary>
    public void BeginAdoption(DateTime from) => _adoptingFrom = from;

    /// <summary>Ends it: each adopted payment is unsettled in memory, or belongs to another epoch.</summary>
    public void EndAdoption() => _adoptingFrom = null;

    /// <summary>
    /// Reads the mark. The unsettled payments are read last: an accepted, loaded or adopted payment enters them before
    /// it leaves its source, so one that moves meanwhile is seen at least once.
    /// </summary>
    public DateTime Read() =>
        new[] { acceptances.Oldest(), backlog.Oldest(), AdoptingFrom, unsettled.Oldest() }.Min()!.Value;
}

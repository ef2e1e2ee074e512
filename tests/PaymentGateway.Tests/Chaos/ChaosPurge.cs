namespace PaymentGateway.Tests.Chaos;

/// <summary>A purge from its call to its answer, and what the system suffered meanwhile.</summary>
public sealed record ChaosPurge(string During, DateTimeOffset Called, DateTimeOffset Answered)
{
    // A client's notes are a little earlier than the answer that they are about.
    private static readonly TimeSpan Notes = TimeSpan.FromMilliseconds(5);

    public TimeSpan Took => Answered - Called;

    /// <summary>Its client had the 202 before: deleted from the ledger, for good.</summary>
    public bool Empties(LoadEntry entry) =>
        entry.Outcome == LoadOutcome.Acknowledged && entry.SentAt + entry.Latency + Notes < Called;

    /// <summary>It was sent after the answer and acknowledged: of the new ledger.</summary>
    public bool Precedes(LoadEntry entry) => entry.Outcome == LoadOutcome.Acknowledged && entry.SentAt > Answered;

    /// <summary>Its POST overlapped: of the old ledger or of the new one, nobody can tell.</summary>
    public bool Overlaps(LoadEntry entry) =>
        entry.SentAt <= Answered && entry.SentAt + entry.Latency + Notes >= Called;
}

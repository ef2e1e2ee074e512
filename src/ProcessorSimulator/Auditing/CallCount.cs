namespace ProcessorSimulator.Auditing;

/// <summary>
/// The answer of GET /admin/calls: 429 and in flight are those of the limiter that payments and look-ups share; held
/// are the calls that wait for a fault to be cleared, past every switch. Summaries are GET /admin/payments-summary,
/// whatever the token.
/// </summary>
internal sealed record CallCount(
    long Posts,
    long Lookups,
    long HealthCalls,
    long Refused429,
    long Duplicates422,
    int MaxInFlight,
    int InFlight,
    int Queued,
    int Held,
    long Summaries);

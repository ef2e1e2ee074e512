namespace PaymentGateway.Tests.Support;

/// <summary>What a processor's summary says.</summary>
public sealed record ProcessorSummary(
    long TotalRequests, decimal TotalAmount, decimal TotalFee, decimal FeePerTransaction);

/// <summary>What a simulated processor has counted since its start or its last purge, and what it holds now.</summary>
public sealed record ProcessorCalls(
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

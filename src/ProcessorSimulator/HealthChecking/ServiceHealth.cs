namespace ProcessorSimulator.HealthChecking;

/// <summary>The answer of GET /payments/service-health; minResponseTime is the delay in milliseconds.</summary>
internal sealed record ServiceHealth(bool Failing, int MinResponseTime);

using PaymentGateway.Leasing;
using PaymentGateway.Processors;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;
using PaymentGateway.Routing;
using PaymentGateway.Settling;
using PaymentGateway.Telemetry;
using Polly.CircuitBreaker;

namespace PaymentGateway.Hosting;

/// <summary>What this instance's parts say of themselves, for the gauges.</summary>
internal sealed class GatewayState(
    UnsettledPayments unsettled, PaymentQueue queue, StoredBacklog stored, DoubtQueue doubts,
    UnwrittenOutcomes outcomes, ParkedCount parked, Lease lease, LedgerWatch ledger, ProcessorLanes lanes,
    TimeProvider clock)
    : IGatewayState
{
    public int Unsettled => unsettled.Count;

    public int Queued => queue.Count;

    public TimeSpan OldestAge =>
        new[] { stored.Oldest(), unsettled.Oldest() }.Min() is { } oldest
        && clock.GetUtcNow().UtcDateTime - oldest is var age && age > TimeSpan.Zero
            ? age
            : TimeSpan.Zero;

    public bool HasOverflow => stored.HasOverflow;

    public int InDoubt => doubts.Count;

    public long? Parked => parked.Read();

    public int Unwritten => outcomes.Count;

    public bool IsLeaseHeld => lease.IsHeld;

    public bool IsLedgerReset => ledger.ResetAt is not null;

    public ProcessorReading Read(Processor processor)
    {
        var lane = lanes.Of(processor);
        var state = lane.Health.Read();
        var (inFlight, limit) = lane.Charges;
        return new ProcessorReading(
            lane.Health.Circuit.CircuitState switch
            {
                CircuitState.Closed => "closed",
                CircuitState.HalfOpen => "half_open",
                CircuitState.Open => "open",
                _ => "isolated",
            },
            state.Availability switch
            {
                Availability.Usable => lane.Health.ReadLiveness() switch
                {
                    Liveness.Alive => "usable",
                    Liveness.Unknown => "unknown",
                    _ => "unusable",
                },
                Availability.Probe => "probe",
                _ => "unusable",
            },
            state.ExpectedLatency, inFlight, limit);
    }
}

using PaymentGateway.Leasing;
using PaymentGateway.Recording;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Settling;

/// <summary>
/// Whether this instance owns a payment and may charge it, and how it leaves: settled, parked or dropped. Any thread.
/// </summary>
internal sealed partial class OwnedPayments(
    Lease lease, UnwrittenOutcomes outcomes, UnsettledPayments unsettled, ParkedStore parked, LeaseStore leases,
    GatewayMetrics metrics, TimeProvider clock, ILogger<OwnedPayments> log)
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly OutageLog _outage = new();

    /// <summary>False while the lease is not held, or the ledger is behind.</summary>
    public bool MayCharge => lease.IsHeld && outcomes.HasCapacity;

    /// <summary>False is final: the payment was purged, or its epoch was lost and others adopt it.</summary>
    public bool Owns(Payment payment) => !payment.Purged && lease.Owns(payment);

    /// <summary>Amount and UTC requestedAt are the processor's.</summary>
    public void Settle(Payment payment, Processor processor, long amountCents, DateTime requestedAt) =>
        outcomes.Add(new Settlement(payment, processor, amountCents, requestedAt));

    /// <summary>Removes a payment that is not owned any more.</summary>
    public void Drop(Payment payment) => unsettled.Remove(payment);

    /// <summary>
    /// Parks a payment that no retry can settle. Retries until this is stored; until then the payment is unsettled.
    /// </summary>
    /// <param name="rejectedBy">The only processor that may have the payment: it rejected the charge.</param>
    public async Task ParkAsync(Payment payment, Processor rejectedBy, string reason)
    {
        Log.Parked(log, payment, reason);
        while (true)
        {
            try
            {
                await parked.ParkAsync(new ParkArgs(
                    payment.Id, payment.AcceptedAt, payment.Epoch, reason, payment.Attempts,
                    ProcessorSet.Of(rejectedBy).Bits));
                unsettled.Remove(payment);
                _outage.Succeed();
                metrics.Parked.Add(1);
                return;
            }
            catch (Exception unavailable)
            {
                var level = _outage.Fail(LogLevel.Warning);
                Log.ParkingFailed(log, level, payment, unavailable.Message);
                await Task.Delay(RetryAfter, clock);
            }
        }
    }

    /// <summary>
    /// Stores that a processor has said that it has this payment. Retries until this is stored, whoever owns the
    /// payment by then, because an adopter could charge another processor otherwise.
    /// </summary>
    public async Task HoldAsync(Payment payment)
    {
        while (!payment.Purged)
        {
            try
            {
                await leases.HoldAsync(new HoldArgs(payment.Id, payment.AcceptedAt, payment.HeldBy));
                _outage.Succeed();
                return;
            }
            catch (Exception unavailable)
            {
                var level = _outage.Fail(LogLevel.Warning);
                Log.HoldingFailed(log, level, payment, unavailable.Message);
                await Task.Delay(RetryAfter, clock);
            }
        }
    }

    private static partial class Log
    {
        [LoggerMessage(420, LogLevel.Error, "Payment {CorrelationId} is parked: {Reason}")]
        public static partial void Parked(ILogger log, Payment correlationId, string reason);

        [LoggerMessage(EventId = 421, Message = "Failed to park payment {CorrelationId}: {Reason}")]
        public static partial void ParkingFailed(ILogger log, LogLevel level, Payment correlationId, string reason);

        [LoggerMessage(
            EventId = 422, Message = "Failed to store that a 422 says where payment {CorrelationId} is: {Reason}")]
        public static partial void HoldingFailed(ILogger log, LogLevel level, Payment correlationId, string reason);
    }
}

/// <summary>How many payments are parked, for a gauge that may not wait for the database. Any thread.</summary>
internal sealed class ParkedCount(ParkedStore store)
{
    public const int CountMax = 10_000;

    private readonly object _gate = new();
    private Task _asking = Task.CompletedTask;
    private long? _latest;

    /// <summary>The last count, null before the first one; starts a new query for later calls.</summary>
    public long? Read()
    {
        lock (_gate)
        {
            if (_asking.IsCompleted)
                _asking = AskAsync();
            return _latest;
        }
    }

    // A failure is ignored, because the next call asks again.
    private async Task AskAsync()
    {
        var reasons = await store.CountAsync(CountMax);
        lock (_gate)
            _latest = reasons.Sum(reason => reason.Payments);
    }
}

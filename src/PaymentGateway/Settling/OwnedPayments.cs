using PaymentGateway.Leasing;
using PaymentGateway.Recording;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Settling;

/// <summary>
/// Whether this instance owns a payment and may charge it, and how it leaves: settled, parked or dropped. Any thread.
/// </summary>
internal sealed partial class OwnedPayments(
    Lease lease, UnwrittenOutcomes outcomes, UnsettledPayments unsettled, ParkedStore parked, DoubtStore doubts,
    GatewayMetrics metrics, TimeProvider clock, ILogger<OwnedPayments> log)
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly OutageLog _outage = new();

    /// <summary>False while the lease is not held, or the ledger is behind.</summary>
    public bool MayCharge => lease.IsHeld && outcomes.HasCapacity;

    /// <summary>False is final: the payment was purged, or its epoch was lost and others adopt it.</summary>
    public bool Owns(Payment payment) =>
        !payment.Purged && lease.Owns(payment) && payment.Phase != PaymentPhase.Broken;

    /// <summary>Amount and UTC requestedAt are the processor's.</summary>
    public void Settle(Payment payment, Processor processor, long amountCents, DateTime requestedAt) =>
        outcomes.Add(new Settlement(payment, processor, amountCents, requestedAt));

    /// <summary>Removes a payment that is not owned any more; a broken one leaves when it is parked.</summary>
    public void Drop(Payment payment)
    {
        if (payment.Phase != PaymentPhase.Broken)
            unsettled.Remove(payment);
    }

    /// <summary>
    /// Forgets in the ledger that a 422 holds the payment, before it may go elsewhere: otherwise its next owner would
    /// hold it again.
    /// </summary>
    /// <exception cref="DbException">The outcome is unknown; repeat.</exception>
    public Task UnholdAsync(Payment payment) =>
        payment.IsHeld ? doubts.HoldAsync(HoldArgs.Of([payment], isHeld: false)) : Task.CompletedTask;

    /// <summary>
    /// Parks a payment that no retry can settle. Retries until this is stored; until then the payment is unsettled.
    /// </summary>
    /// <param name="rejectedBy">The only processor that may have the payment: it rejected the charge.</param>
    public Task ParkAsync(Payment payment, Processor rejectedBy, string reason)
    {
        Log.Parked(log, payment, reason);
        return ParkAsync(payment, ProcessorSet.Of(rejectedBy), reason);
    }

    /// <summary>
    /// Ends the epoch of a payment whose state this program got wrong, because its memory may be wrong, and parks the
    /// payment. The lease ends by its expiry, so there is time to park every broken payment before others can adopt it,
    /// and fail as this instance did.
    /// </summary>
    public Task BreakAsync(BrokenLifeException broken)
    {
        var payment = broken.Payment;
        Log.Broken(log, payment, broken);
        lease.Lose(payment.Epoch);
        lease.CheckSoon.Set();
        // Where it may be is not known any more, so a replay looks it up everywhere.
        return ParkAsync(payment, default(ProcessorSet), broken.Message);
    }

    private async Task ParkAsync(Payment payment, ProcessorSet mayBeAt, string reason)
    {
        while (true)
        {
            try
            {
                var isParked = await parked.ParkAsync(new ParkArgs(
                    payment.Id, payment.AcceptedAt, payment.Epoch, reason, payment.Attempts, mayBeAt.Bits));
                // Otherwise it was purged, or has another owner.
                if (isParked)
                    metrics.Parked.Add(1);
                unsettled.Remove(payment);
                _outage.Succeed();
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

    private static partial class Log
    {
        [LoggerMessage(420, LogLevel.Error, "Payment {CorrelationId} is parked: {Reason}")]
        public static partial void Parked(ILogger log, Payment correlationId, string reason);

        [LoggerMessage(423, LogLevel.Critical,
            "Payment {CorrelationId} is parked, and its epoch ends: a fault of this program")]
        public static partial void Broken(ILogger log, Payment correlationId, Exception broken);

        [LoggerMessage(EventId = 421, Message = "Failed to park payment {CorrelationId}: {Reason}")]
        public static partial void ParkingFailed(ILogger log, LogLevel level, Payment correlationId, string reason);
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

using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Recording;
using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>Whether an epoch may charge, and how its payments leave: settled or parked. Any thread.</summary>
internal sealed partial class OwnedPayments(
    UnwrittenOutcomes outcomes, ParkedStore parked, DoubtStore doubts, GatewayMetrics metrics, TimeProvider clock,
    ILogger<OwnedPayments> log)
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly OutageLog _outage = new();

    /// <summary>False while the lease is not held, or the ledger is behind.</summary>
    public bool AdmitsCharges(Epoch epoch) => epoch.MayCharge && outcomes.HasCapacity;

    /// <summary>Amount and UTC requestedAt are the processor's.</summary>
    public void Settle(Epoch epoch, Payment payment, Processor processor, long amountCents, DateTime requestedAt)
    {
        epoch.Enter();
        outcomes.Add(new Settlement(epoch, payment, processor, amountCents, requestedAt));
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
    public Task ParkAsync(Epoch epoch, Payment payment, Processor rejectedBy, string reason)
    {
        Log.Parked(log, payment, reason);
        return ParkAsync(epoch, payment, ProcessorSet.Of(rejectedBy), reason);
    }

    /// <summary>
    /// Ends the epoch of a payment whose state this program got wrong, because its memory may be wrong, and parks the
    /// payment. The next epoch takes over when every broken payment is parked, because it would fail as this one did.
    /// </summary>
    public Task BreakAsync(Epoch epoch, BrokenLifeException broken)
    {
        Log.Broken(log, broken.Payment, broken);
        // Where it may be is not known any more, so a replay looks it up everywhere.
        var parking = ParkAsync(epoch, broken.Payment, default(ProcessorSet), broken.Message);
        epoch.Spoil("this program got the state of a payment wrong");
        epoch.End();
        return parking;
    }

    private async Task ParkAsync(Epoch epoch, Payment payment, ProcessorSet mayBeAt, string reason)
    {
        epoch.Enter();
        while (true)
        {
            try
            {
                var isParked = await parked.ParkAsync(new ParkArgs(
                    payment.Id, payment.AcceptedAt, epoch.Number, reason, payment.Attempts, mayBeAt.Bits));
                // Otherwise it was purged, or has another owner.
                if (isParked)
                    metrics.Parked.Add(1);
                epoch.Unsettled.Remove(payment);
                epoch.Leave();
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
            "Payment {CorrelationId} is parked, and its epoch ends, because of a fault of this program: report it")]
        public static partial void Broken(ILogger log, Payment correlationId, Exception broken);

        [LoggerMessage(EventId = 421, Message = "Failed to park payment {CorrelationId}: {Reason}")]
        public static partial void ParkingFailed(ILogger log, LogLevel level, Payment correlationId, string reason);
    }
}

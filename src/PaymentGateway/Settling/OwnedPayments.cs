using PaymentGateway.Leasing;
using PaymentGateway.Recording;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Settling;

/// <summary>
/// Which payments this instance owns, whether it may charge them now, and how each leaves it: settled, parked or
/// dropped. Any thread.
/// </summary>
internal sealed partial class OwnedPayments(
    Lease lease, UnwrittenOutcomes outcomes, UnsettledPayments unsettled, ParkedStore parked, GatewayMetrics metrics,
    TimeProvider clock, ILogger<OwnedPayments> log)
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly OutageLog _outage = new();

    /// <summary>False: the lease is not held at this moment, or the ledger is behind.</summary>
    public bool MayCharge => lease.IsHeld && outcomes.HasCapacity;

    /// <summary>False for good: it was purged, or its epoch was lost and others adopt it.</summary>
    public bool Contains(Payment payment) => !payment.Purged && lease.Owns(payment);

    /// <summary>A processor has stored it; amount and UTC requestedAt are the processor's.</summary>
    public void Settle(Payment payment, Processor processor, long amountCents, DateTime requestedAt) =>
        outcomes.Add(new Settlement(payment, processor, amountCents, requestedAt));

    /// <summary>Forgets a payment that is not owned any more.</summary>
    public void Drop(Payment payment) => unsettled.Remove(payment);

    /// <summary>
    /// Sets a payment aside that trying again cannot settle: again and again until it is written, unsettled until then.
    /// </summary>
    public async Task ParkAsync(Payment payment, string reason)
    {
        Log.Parked(log, payment, reason);
        while (true)
        {
            try
            {
                await parked.ParkAsync(new ParkArgs(
                    payment.Id, payment.AcceptedAt, payment.Epoch, reason, payment.Attempts));
                unsettled.Remove(payment);
                _outage.Succeed();
                metrics.Parked.Add(1);
                return;
            }
            catch (Exception unavailable) when (unavailable is not OperationCanceledException)
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

        [LoggerMessage(EventId = 421, Message = "Payment {CorrelationId} could not be parked yet: {Reason}")]
        public static partial void ParkingFailed(ILogger log, LogLevel level, Payment correlationId, string reason);
    }
}

/// <summary>How many payments are parked, for a gauge that may not wait for the database. Any thread.</summary>
internal sealed class ParkedCount(ParkedStore store)
{
    /// <summary>It counts no further, however many there are.</summary>
    public const int CountMax = 10_000;

    private const long NotAsked = -1;

    private long _latest = NotAsked;
    private int _asking;

    /// <summary>As the database last said, and has it asked again; null until its first answer.</summary>
    public long? Read()
    {
        if (Interlocked.Exchange(ref _asking, 1) == 0)
            _ = AskAsync();
        return Interlocked.Read(ref _latest) is >= 0 and var latest ? latest : null;
    }

    private async Task AskAsync()
    {
        try
        {
            var reasons = await store.CountAsync(CountMax);
            Interlocked.Exchange(ref _latest, reasons.Sum(reason => reason.Payments));
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            // It is asked again at the next call.
        }
        finally
        {
            Volatile.Write(ref _asking, 0);
        }
    }
}

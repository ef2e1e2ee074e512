using System.Threading.RateLimiting;
using ProcessorSimulator.Auditing;

namespace ProcessorSimulator.Charging;

/// <summary>The limiter that payments and look-ups share: 800 in progress, 500 queued, as the contract says.</summary>
internal sealed class PaymentLimiter(CallCounters calls) : IDisposable
{
    private const int InProgressMax = 800;
    private const int QueuedMax = 500;

    private readonly ConcurrencyLimiter _limiter = new(new ConcurrencyLimiterOptions
    {
        PermitLimit = InProgressMax,
        QueueLimit = QueuedMax,
        QueueProcessingOrder = QueueProcessingOrder.OldestFirst,
    });

    public int InFlight => InProgressMax - (int)_limiter.GetStatistics()!.CurrentAvailablePermits;

    public int Queued => (int)_limiter.GetStatistics()!.CurrentQueuedCount;

    /// <summary>
    /// A permit that is not acquired means that the answer is set, or that the caller left the queue.
    /// </summary>
    public async ValueTask<RateLimitLease> AcquireAsync(HttpContext context)
    {
        var permit = _limiter.AttemptAcquire();
        if (!permit.IsAcquired)
        {
            try
            {
                permit = await _limiter.AcquireAsync(1, context.RequestAborted);
            }
            catch (OperationCanceledException)
            {
                // Hanging up in the queue cancels the call: the limiter has released its permit.
                return permit;
            }
        }

        if (permit.IsAcquired)
            calls.NoteInFlight(InFlight);
        else
            Refuse(context, "5");
        return permit;
    }

    public void Dispose() => _limiter.Dispose();

    public void Refuse(HttpContext context, string retryAfterSeconds)
    {
        calls.Count(Counted.Refused);
        context.Response.StatusCode = StatusCodes.Status429TooManyRequests;
        context.Response.Headers.RetryAfter = retryAfterSeconds;
    }
}

using System.Threading.RateLimiting;

namespace PaymentGateway.Http;

/// <summary>
/// A few queries in flight for those who ask, so that however many ask, the other users of the shared connections have
/// theirs. One that hangs keeps its permit, though its caller was let go. Safe from any thread.
/// </summary>
internal sealed class QueryLimit(TimeProvider clock) : IDisposable
{
    /// <summary>How long a caller waits at most; nginx waits 3 s.</summary>
    public static readonly TimeSpan AnswerWithin = TimeSpan.FromSeconds(2.5);

    private const int InFlightMax = 2;
    private const int WaitingMax = 60;

    private readonly ConcurrencyLimiter _permits = new(new ConcurrencyLimiterOptions
    {
        PermitLimit = InFlightMax,
        QueueLimit = WaitingMax,
        QueueProcessingOrder = QueueProcessingOrder.OldestFirst,
    });

    /// <summary>Asks when there is a permit; not Admitted where too many wait for one.</summary>
    /// <exception cref="TimeoutException">No answer within the limit.</exception>
    public Task<(bool Admitted, T? Answer)> AskAsync<T>(Func<Task<T?>> query) =>
        AskAdmittedAsync(query).WaitAsync(AnswerWithin, clock);

    /// <summary>503 for a caller who was not admitted.</summary>
    public static Task RefuseAsync(HttpContext context) => ProblemAnswer.WriteAsync(
        context, Problems.Overloaded, "Too many payments are being asked for. Ask again.", null, 1);

    public void Dispose() => _permits.Dispose();

    private async Task<(bool Admitted, T? Answer)> AskAdmittedAsync<T>(Func<Task<T?>> query)
    {
        using var permit = await _permits.AcquireAsync();
        return permit.IsAcquired ? (true, await query()) : (false, default);
    }
}

using System.Threading.RateLimiting;

namespace PaymentGateway.Hosting.Http;

/// <summary>
/// Limits the queries in flight, so that many callers cannot take all shared connections. A query that hangs keeps its
/// permit, although its caller has timed out. Safe from any thread.
/// </summary>
internal sealed class QueryLimit(TimeProvider clock) : IDisposable
{
    /// <summary>How long a caller waits at most; nginx waits 3 s.</summary>
    public static readonly TimeSpan AnswerWithin = TimeSpan.FromSeconds(2.5);

    private const int InFlightMax = 2;
    private const int WaitingMax = 60;

    private readonly ConcurrencyLimiter _permits = new(
        new ConcurrencyLimiterOptions { PermitLimit = InFlightMax, QueueLimit = WaitingMax });

    /// <summary>Runs a query when a permit is free, and answers; 503 at once when too many wait for one.</summary>
    /// <exception cref="TimeoutException">The query took longer than the limit.</exception>
    public async Task AnswerAsync<T>(HttpContext context, Func<Task<T>> query, Func<T, Task> answer)
    {
        var (isAdmitted, found) = await AskAsync(query).WaitAsync(AnswerWithin, clock);
        await (isAdmitted
            ? answer(found!)
            : ProblemAnswer.WriteAsync(
                context, Problems.Overloaded, "Too many payments are being asked for. Ask again.", null, 1));
    }

    public void Dispose() => _permits.Dispose();

    private async Task<(bool IsAdmitted, T? Found)> AskAsync<T>(Func<Task<T>> query)
    {
        using var permit = await _permits.AcquireAsync();
        return permit.IsAcquired ? (true, await query()) : (false, default);
    }
}

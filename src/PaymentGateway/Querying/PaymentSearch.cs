using System.Threading.RateLimiting;
using PaymentGateway.Storage;

namespace PaymentGateway.Querying;

/// <summary>Finds single payments, and pages of them, newest first. Safe from any thread.</summary>
/// <remarks>
/// Few statements are in flight, so that however many ask, the other users of the shared connections have theirs. Where
/// no index gives the wanted payments alone, pages are read and chosen from, for so long; then the page is a short one,
/// and its cursor says how far the reading has come.
/// </remarks>
internal sealed class PaymentSearch(PaymentQueryStore payments, TimeProvider clock) : IDisposable
{
    /// <summary>How long a caller waits at most; nginx waits 3 s.</summary>
    public static readonly TimeSpan AnswerWithin = TimeSpan.FromSeconds(2.5);

    private const int InFlightMax = 2;
    private const int WaitingMax = 60;
    private const int ReadMax = 1_000;

    private static readonly TimeSpan ReadWithin = TimeSpan.FromSeconds(1);

    private readonly ConcurrencyLimiter _permits = new(new ConcurrencyLimiterOptions
    {
        PermitLimit = InFlightMax,
        QueueLimit = WaitingMax,
        QueueProcessingOrder = QueueProcessingOrder.OldestFirst,
    });

    /// <summary>A payment by its id, or none; not Admitted where too many ask.</summary>
    /// <exception cref="System.Data.Common.DbException">The query's.</exception>
    /// <exception cref="TimeoutException">No answer within the limit.</exception>
    public Task<(bool Admitted, PaymentRow? Payment)> FindAsync(Guid id) => AskAsync(() => payments.FindAsync(id));

    /// <summary>At most Limit payments; not Admitted where too many ask.</summary>
    /// <inheritdoc cref="FindAsync(Guid)"/>
    public Task<(bool Admitted, PaymentPage? Page)> FindAsync(PaymentQuery query) => AskAsync(() => ReadAsync(query));

    public void Dispose() => _permits.Dispose();

    private Task<(bool Admitted, T? Answer)> AskAsync<T>(Func<Task<T?>> ask) =>
        AskAdmittedAsync(ask).WaitAsync(AnswerWithin, clock);

    // The permit is the statement's: one that hangs keeps it, though its caller was let go.
    private async Task<(bool Admitted, T? Answer)> AskAdmittedAsync<T>(Func<Task<T?>> ask)
    {
        using var permit = await _permits.AcquireAsync();
        return permit.IsAcquired ? (true, await ask()) : (false, default);
    }

    private async Task<PaymentPage?> ReadAsync(PaymentQuery query)
    {
        var began = clock.GetTimestamp();
        var (found, before) = (new List<PaymentRow>(), query.Before);
        // One more than is shown, to know whether another page follows.
        for (var count = query.Limit + 1; ; count = ReadMax)
        {
            var read = await ReadAsync(query, before, count);
            found.AddRange(read.Where(row => IsWanted(row, query)));
            if (found.Count > query.Limit)
            {
                found.RemoveRange(query.Limit, found.Count - query.Limit);
                return new PaymentPage(found, found[^1].Cursor);
            }

            if (read.Count < count)
                return new PaymentPage(found, null);

            before = read[^1].Cursor;
            if (clock.GetElapsedTime(began) >= ReadWithin)
                return new PaymentPage(found, before);
        }
    }

    private Task<List<PaymentRow>> ReadAsync(PaymentQuery query, PaymentCursor before, int count)
    {
        var page = PaymentPageArgs.Before(before, query.From, count, query.State == PaymentState.Parked);
        return query.State switch
        {
            PaymentState.Accepted or PaymentState.Parked => payments.OwnedAsync(page),
            PaymentState.InDoubt => payments.InDoubtAsync(page),
            null when query.Processor is null => payments.AllAsync(page),
            _ => payments.SettledAsync(page),
        };
    }

    private static bool IsWanted(PaymentRow row, PaymentQuery query) =>
        (query.State is not { } state || PaymentAnswer.StateOf(row) == state)
        && (query.Processor is not { } processor || row.Processor == (short)processor);
}

/// <summary>Payments, newest first, and where to go on; null at the end.</summary>
internal sealed record PaymentPage(List<PaymentRow> Payments, PaymentCursor? Next);

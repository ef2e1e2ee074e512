using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>Finds single payments, and pages of them, newest first. Safe from any thread.</summary>
/// <remarks>
/// Where no index gives the wanted payments alone, pages are read and chosen from, for so long; then the page is a
/// short one, and its cursor says how far the reading has come.
/// </remarks>
internal sealed class PaymentSearch(PaymentQueryStore payments, QueryLimit limit, TimeProvider clock)
{
    private const int ReadMax = 1_000;

    private static readonly TimeSpan ReadWithin = TimeSpan.FromSeconds(1);

    /// <summary>A payment by its id, or none; not Admitted where too many ask.</summary>
    /// <exception cref="System.Data.Common.DbException">The query's.</exception>
    /// <exception cref="TimeoutException">No answer within the limit.</exception>
    public Task<(bool Admitted, PaymentRow? Payment)> FindAsync(Guid id) =>
        limit.AskAsync(() => payments.FindAsync(id));

    /// <summary>At most Limit payments; not Admitted where too many ask.</summary>
    /// <inheritdoc cref="FindAsync(Guid)"/>
    public Task<(bool Admitted, PaymentPage? Page)> FindAsync(PaymentQuery query) =>
        limit.AskAsync<PaymentPage>(async () => await ReadAsync(query));

    private async Task<PaymentPage> ReadAsync(PaymentQuery query)
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

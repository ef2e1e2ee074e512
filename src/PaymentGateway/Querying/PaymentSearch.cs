using PaymentGateway.Storage;

namespace PaymentGateway.Querying;

/// <summary>Finds a page of payments, newest first.</summary>
/// <remarks>
/// Where nothing but the wanted ones could be read by an index, it reads pages and chooses, for so long; then the page
/// is a short one, and its cursor says how far the reading has come.
/// </remarks>
internal sealed class PaymentSearch(PaymentQueryStore payments, TimeProvider clock)
{
    private const int ReadMax = 1_000;

    // nginx waits 3 s for an answer.
    private static readonly TimeSpan ReadWithin = TimeSpan.FromSeconds(1);

    /// <summary>At most Limit payments, and where to go on; null at the end.</summary>
    public async Task<(List<PaymentRow> Payments, PaymentCursor? Next)> FindAsync(PaymentQuery query)
    {
        var began = clock.GetTimestamp();
        var (found, before) = (new List<PaymentRow>(), query.Before);
        // One more than is shown, to know whether another page follows.
        for (var count = query.Limit + 1; ; count = ReadMax)
        {
            var page = await ReadAsync(query, before, count);
            found.AddRange(page.Where(row => IsWanted(row, query)));
            if (found.Count > query.Limit)
            {
                found.RemoveRange(query.Limit, found.Count - query.Limit);
                return (found, found[^1].Cursor);
            }

            if (page.Count < count)
                return (found, null);

            before = page[^1].Cursor;
            if (clock.GetElapsedTime(began) >= ReadWithin)
                return (found, before);
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

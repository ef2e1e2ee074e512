using System.Buffers.Binary;
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
            found.AddRange(read.Where(query.Wants));
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
        // Parked payments alone have a reason.
        var parked = query.State == PaymentState.Parked || query.Reason is not null;
        var page = PaymentPageArgs.Before(before, query.From, count, parked);
        return query.State switch
        {
            _ when parked || query.State == PaymentState.Accepted => payments.OwnedAsync(page),
            PaymentState.InDoubt => payments.InDoubtAsync(page),
            null when query.Processor is null => payments.AllAsync(page),
            _ => payments.SettledAsync(page),
        };
    }
}

/// <summary>Payments, newest first, and where to go on; null at the end.</summary>
internal sealed record PaymentPage(List<PaymentRow> Payments, PaymentCursor? Next);

/// <summary>
/// Which payments a client asks for: of one state, of one processor, parked for one reason, accepted at From (UTC) or
/// later, so many before a cursor.
/// </summary>
internal sealed record PaymentQuery(
    PaymentState? State, Processor? Processor, string? Reason, DateTime From, PaymentCursor Before, int Limit)
{
    /// <summary>Reads the parameters; what is wrong or unknown is answered with 400.</summary>
    /// <returns>Null when it was answered.</returns>
    public static async ValueTask<PaymentQuery?> ReadAsync(HttpContext context)
    {
        var reader = new QueryReader(context);
        var state = reader.Word<PaymentState>("state");
        var processor = reader.Word<Processor>("processor");
        var reason = reader.Text("reason");
        var (from, to) = (reader.Time("from"), reader.Time("to"));
        var limit = reader.Limit();
        var after = reader.After(CursorText.TryRead);
        if (from > to)
            reader.Refuse("from", "is later than to.");
        if (processor is not null && state is not (null or PaymentState.Settled))
            reader.Refuse("processor", "is known of settled payments only.");
        if (await reader.RefusesAsync())
            return null;

        // Both bounds are inclusive, in whole microseconds.
        var last = to is { } latest
            ? new PaymentCursor(Timestamps.Truncate(latest).AddMicroseconds(1), Guid.Empty)
            : PaymentCursor.End;
        return new PaymentQuery(
            state, processor, reason, Timestamps.RoundUp(from ?? default),
            after?.AcceptedAt < last.AcceptedAt ? after : last, limit);
    }

    /// <summary>Whether a payment is of the state, the processor and the reason that are asked for.</summary>
    public bool Wants(PaymentRow row) =>
        (State is not { } state || PaymentAnswer.StateOf(row) == state)
        && (Processor is not { } processor || row.Processor == (short)processor)
        && (Reason is null || row.ParkedReason == Reason);
}

/// <summary>A cursor as clients carry it: base64url of the microseconds since 1970 and the id, 32 characters.</summary>
internal static class CursorText
{
    private const int Bytes = sizeof(long) + 16;

    public static string Write(PaymentCursor cursor)
    {
        Span<byte> bytes = stackalloc byte[Bytes];
        BinaryPrimitives.WriteInt64BigEndian(bytes, Timestamps.ToMicroseconds(cursor.AcceptedAt));
        cursor.Id.TryWriteBytes(bytes[sizeof(long)..], bigEndian: true, out _);
        return Convert.ToBase64String(bytes).Replace('+', '-').Replace('/', '_');
    }

    /// <returns>Null for what no cursor is.</returns>
    public static PaymentCursor? TryRead(string text)
    {
        Span<byte> bytes = stackalloc byte[Bytes];
        if (text.Length != Bytes / 3 * 4 || text.AsSpan().IndexOfAny('+', '/') >= 0
            || !Convert.TryFromBase64String(text.Replace('-', '+').Replace('_', '/'), bytes, out var read)
            || read != Bytes)
            return null;

        return Timestamps.FromMicroseconds(BinaryPrimitives.ReadInt64BigEndian(bytes)) is { } acceptedAt
            ? new PaymentCursor(acceptedAt, new Guid(bytes[sizeof(long)..], bigEndian: true))
            : null;
    }
}

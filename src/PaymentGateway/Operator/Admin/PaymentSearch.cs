using System.Buffers.Binary;
using PaymentGateway.Accepting;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Finds payments: GET /payments/{id}, and GET /payments, newest first, in pages. Safe from any thread.
/// </summary>
/// <remarks>
/// Without an index for a filter, pages are read and filtered for a limited time. The answer may be short then; its
/// cursor says how far the reading has come.
/// </remarks>
internal sealed class PaymentSearch(
    PaymentQueryStore payments, QueryLimit permits, GatewayOptions options, TimeProvider clock)
{
    private const int ReadMax = 1_000;

    private static readonly TimeSpan ReadWithin = TimeSpan.FromSeconds(1);

    public Task ShowAsync(HttpContext context)
    {
        if (!Guid.TryParseExact(context.Request.RouteValues["id"] as string, "D", out var id))
            return ProblemAnswer.WriteAsync(context, Problems.InvalidId, "id must be a UUID.", "id");

        // Another payer's is answered as one that nobody has.
        var payer = context.Features.Get<KnownPayer>();
        return permits.AnswerAsync(
            context, () => payments.FindAsync(id),
            payment => payment is null || (payer is not null && payment.Payer != payer.Name)
                ? ProblemAnswer.WriteAsync(
                    context, Problems.PaymentNotFound, "No accepted payment has this correlationId.", "id")
                : JsonAnswer.WriteAsync(context, PaymentAnswer.Of(payment), AdminJsonContext.Default.PaymentAnswer));
    }

    public async Task ListAsync(HttpContext context)
    {
        if (await PaymentQuery.ReadAsync(context, options.Processors) is { } query)
            await permits.AnswerAsync(
                context, () => ReadAsync(query),
                page => JsonAnswer.WriteAsync(context, page, AdminJsonContext.Default.PaymentList));
    }

    private async Task<PaymentList> ReadAsync(PaymentQuery query)
    {
        var began = clock.GetTimestamp();
        var found = new List<PaymentRow>();
        var next = query.Before;
        // One more than is shown, to know whether another page follows.
        var count = query.Limit + 1;
        do
        {
            var read = await ReadAsync(query, next, count);
            found.AddRange(read.Where(query.Wants));
            next = read.Count < count ? null : read[^1].Cursor;
            count = ReadMax;
        }
        while (next is not null && found.Count <= query.Limit && clock.GetElapsedTime(began) < ReadWithin);

        if (found.Count > query.Limit)
            next = found[query.Limit - 1].Cursor;
        return new PaymentList(
            found.Take(query.Limit).Select(PaymentAnswer.Of).ToList(), next is null ? null : CursorText.Write(next));
    }

    private Task<List<PaymentRow>> ReadAsync(PaymentQuery query, PaymentCursor before, int count)
    {
        var page = PaymentPageArgs.Before(before, query.From, count);
        return query.State switch
        {
            // Only parked payments have a reason.
            _ when query.State == PaymentState.Parked || query.Reason is not null => payments.ParkedAsync(page),
            PaymentState.Accepted => payments.OwnedAsync(page),
            PaymentState.InDoubt => payments.InDoubtAsync(page),
            null when query.Processor is null => payments.AllAsync(page),
            _ => payments.SettledAsync(page),
        };
    }
}

/// <summary>Which payments a client asks for; From (UTC) is inclusive.</summary>
internal sealed record PaymentQuery(
    PaymentState? State, string? Processor, string? Reason, string? Payer, DateTime From, PaymentCursor Before,
    int Limit)
{
    /// <returns>Null when a parameter is wrong or unknown, which is answered with 400.</returns>
    public static async ValueTask<PaymentQuery?> ReadAsync(HttpContext context, ProcessorsOptions processors)
    {
        var reader = new QueryReader(context);
        var state = reader.Word<PaymentState>("state");
        var processor = reader.Value(
            "processor", $"one of {string.Join(", ", processors.Names)}",
            text => Array.Find(processors.Names, name => name == text));
        var reason = reader.Text("reason");
        var payer = reader.Text("payer");
        var (from, to) = reader.Window();
        var limit = reader.Limit();
        var after = reader.After(CursorText.TryRead);
        if (processor is not null && state is not (null or PaymentState.Settled))
            reader.NoteFault("processor", "is known of settled payments only.");
        if (await reader.AnswerFirstFaultAsync())
            return null;

        var last = to is { } latest
            ? new PaymentCursor(latest.AddMicroseconds(1), Guid.Empty)
            : PaymentCursor.End;
        return new PaymentQuery(
            state, processor, reason, payer, from ?? new DateTime(0, DateTimeKind.Utc),
            after?.AcceptedAt < last.AcceptedAt ? after : last, limit);
    }

    public bool Wants(PaymentRow row) =>
        (State is not { } state || PaymentAnswer.StateOf(row) == state)
        && (Processor is null || row.Processor == Processor)
        && (Reason is null || row.ParkedReason == Reason)
        && (Payer is null || row.Payer == Payer);
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

    /// <returns>Null when the text is no cursor.</returns>
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

/// <summary>GET /payments/{id} for a token or everyone, and GET /payments for an operator.</summary>
internal static class QueryEndpoints
{
    public const string OnePath = PaymentEndpoints.Path + "/{id}";

    public static void MapLookUp(this IEndpointRouteBuilder routes) =>
        routes.MapGetAndHead(OnePath, routes.ServiceProvider.GetRequiredService<PaymentSearch>().ShowAsync);

    /// <summary>Maps the list of all payments: for operators and their page.</summary>
    public static void MapPaymentList(this IEndpointRouteBuilder admin) =>
        admin.MapGet(PaymentEndpoints.Path, admin.ServiceProvider.GetRequiredService<PaymentSearch>().ListAsync);
}

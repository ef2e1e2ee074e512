using System.Buffers.Binary;
using System.Globalization;
using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Admin;

/// <summary>
/// Which payments a client asks for: of one state, of one processor, accepted within bounds (UTC, whole microseconds,
/// inclusive), so many after a cursor.
/// </summary>
internal sealed record PaymentQuery(
    PaymentState? State, Processor? Processor, DateTime From, DateTime? To, PaymentCursor? After, int Limit)
{
    private const int LimitMax = 200;
    private const int LimitDefault = 50;

    private static readonly PaymentQuery Everything = new(
        null, null, DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc), null, null, LimitDefault);

    /// <summary>Where the page begins: before it lies what comes later.</summary>
    public PaymentCursor Before
    {
        get
        {
            var last = To is { } to ? new PaymentCursor(to.AddMicroseconds(1), Guid.Empty) : PaymentCursor.End;
            return After is { } after && after.AcceptedAt < last.AcceptedAt ? after : last;
        }
    }

    /// <summary>Reads the parameters; what is wrong or unknown is answered with 400.</summary>
    /// <returns>Null when it was answered.</returns>
    public static async ValueTask<PaymentQuery?> ReadAsync(HttpContext context)
    {
        var query = Everything;
        foreach (var (name, values) in context.Request.Query)
        {
            if (query.With(name, values.ToArray(), out var problem) is not { } next)
            {
                await RefuseAsync(context, name, problem);
                return null;
            }

            query = next;
        }

        if (query.From > query.To)
            await RefuseAsync(context, "from", "is later than to.");
        else if (query is { Processor: not null, State: not (null or PaymentState.Settled) })
            await RefuseAsync(context, "processor", "is known of settled payments only.");
        else
            return query;
        return null;
    }

    private static Task RefuseAsync(HttpContext context, string name, string problem) =>
        ProblemAnswer.WriteAsync(context, Problems.InvalidQuery, $"{name} {problem}", name);

    private PaymentQuery? With(string name, string?[] values, out string problem)
    {
        problem = "must be given once, and not empty.";
        if (values is not [{ Length: > 0 } text])
            return null;

        switch (name)
        {
            case "state":
                problem = "must be accepted, in_doubt, settled or parked.";
                return PaymentWords.StateOf(text) is { } state ? this with { State = state } : null;
            case "processor":
                problem = "must be default or fallback.";
                return PaymentWords.ProcessorOf(text) is { } processor ? this with { Processor = processor } : null;
            case "from":
                problem = "must be an ISO 8601 timestamp such as 2025-07-15T12:34:56.000Z.";
                return Timestamps.TryParse(text, out var from) ? this with { From = Timestamps.RoundUp(from) } : null;
            case "to":
                problem = "must be an ISO 8601 timestamp such as 2025-07-15T12:34:56.000Z.";
                return Timestamps.TryParse(text, out var to) ? this with { To = Timestamps.Truncate(to) } : null;
            case "limit":
                problem = $"must be a whole number from 1 to {LimitMax}.";
                return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var limit)
                    && limit is >= 1 and <= LimitMax ? this with { Limit = limit } : null;
            case "after":
                problem = "must be the next of an earlier page, as it was.";
                return CursorText.TryRead(text) is { } after ? this with { After = after } : null;
            default:
                problem = "is no parameter of this call.";
                return null;
        }
    }
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

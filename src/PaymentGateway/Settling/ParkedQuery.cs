using System.Globalization;
using PaymentGateway.Answering;
using PaymentGateway.Storage;
using PaymentGateway.Timing;

namespace PaymentGateway.Settling;

/// <summary>Which parked payments an operator means: of one reason or of any, after a cursor, so many.</summary>
internal sealed record ParkedQuery(string? Reason, PaymentCursor After, int Limit)
{
    private const int LimitMax = 1_000;

    /// <summary>Reads the parameters; what is wrong or unknown is answered with 400.</summary>
    /// <param name="context">The request.</param>
    /// <param name="known">Those that this call takes: a misspelt one would mean all.</param>
    /// <returns>Null when it was answered.</returns>
    public static async ValueTask<ParkedQuery?> ReadAsync(HttpContext context, params string[] known)
    {
        var query = new ParkedQuery(null, PaymentCursor.Start, LimitMax);
        foreach (var (name, values) in context.Request.Query)
        {
            var problem = "is no parameter of this call.";
            var next = known.Contains(name) ? query.With(name, values.ToArray(), out problem) : null;
            if (next is null)
            {
                await ProblemAnswer.WriteAsync(context, 400, "Invalid query", $"{name} {problem}", name);
                return null;
            }

            query = next;
        }

        return query;
    }

    /// <summary>The query string of the page after a cursor.</summary>
    public string Following(PaymentCursor last)
    {
        var micros = Timestamps.ToMicroseconds(last.AcceptedAt);
        var reason = Reason is null ? "" : $"&reason={Uri.EscapeDataString(Reason)}";
        return string.Create(CultureInfo.InvariantCulture, $"?after={micros}.{last.Id:N}&limit={Limit}{reason}");
    }

    private ParkedQuery? With(string name, string?[] values, out string problem)
    {
        problem = "must be given once, and not empty.";
        if (values is not [{ Length: > 0 } text])
            return null;

        switch (name)
        {
            case "reason":
                problem = "must be text without NUL.";
                return text.Contains('\0', StringComparison.Ordinal) ? null : this with { Reason = text };
            case "limit":
                problem = $"must be a whole number from 1 to {LimitMax}.";
                return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var limit)
                    && limit is >= 1 and <= LimitMax ? this with { Limit = limit } : null;
            default:
                problem = "must be as a Link of this list has it.";
                return TryReadCursor(text) is { } cursor ? this with { After = cursor } : null;
        }
    }

    private static PaymentCursor? TryReadCursor(string text)
    {
        var dot = text.IndexOf('.', StringComparison.Ordinal);
        return dot > 0
            && long.TryParse(text.AsSpan(0, dot), NumberStyles.None, CultureInfo.InvariantCulture, out var micros)
            && Timestamps.FromMicroseconds(micros) is { } acceptedAt
            && Guid.TryParseExact(text.AsSpan(dot + 1), "N", out var id)
            ? new PaymentCursor(acceptedAt, id)
            : null;
    }
}

using PaymentGateway.Answering;
using PaymentGateway.Timing;

namespace PaymentGateway.Reconciling;

/// <summary>
/// What is reconciled: a window of requestedAt, both bounds inclusive, UTC; absent is as far as possible.
/// </summary>
internal sealed record ReconciliationQuery(DateTime? From, DateTime? To, bool Repair)
{
    /// <summary>Reads the parameters from, to and repair; a wrong one is answered 400.</summary>
    /// <param name="context">The request.</param>
    /// <param name="closedUntil">A later `to` is refused.</param>
    /// <returns>Null when it is answered.</returns>
    public static async Task<ReconciliationQuery?> ReadAsync(HttpContext context, DateTime closedUntil)
    {
        var query = new ReconciliationQuery(null, null, false);
        foreach (var (name, values) in context.Request.Query)
        {
            if (query.With(name, values.Count == 1 ? values[0] : null) is not { } next)
            {
                await ProblemAnswer.WriteAsync(
                    context, 400, "Invalid query",
                    $"{name}: this call takes from and to, ISO 8601 timestamps, and repair, true or false, each once.",
                    name);
                return null;
            }

            query = next;
        }

        if (query.To > closedUntil)
            await RefuseAsync(context, "to", $"to may be {closedUntil:yyyy-MM-dd'T'HH:mm:ss.fff'Z'} now, and no later: "
                + "younger payments may be in flight.");
        else if (query.From > (query.To ?? closedUntil))
            await RefuseAsync(context, "from", query.To is null
                ? $"from is later than {closedUntil:yyyy-MM-dd'T'HH:mm:ss.fff'Z'}: younger payments may be in flight."
                : "from is later than to.");
        else
            return query;
        return null;
    }

    private static Task RefuseAsync(HttpContext context, string field, string detail) =>
        ProblemAnswer.WriteAsync(context, 400, "Invalid window", detail, field);

    private ReconciliationQuery? With(string name, string? value) => name switch
    {
        "from" => Timestamps.TryParse(value, out var from) ? this with { From = from } : null,
        "to" => Timestamps.TryParse(value, out var to) ? this with { To = to } : null,
        "repair" => value is "true" or "false" ? this with { Repair = value == "true" } : null,
        _ => null,
    };
}

namespace PaymentGateway.Hosting.Http;

/// <summary>
/// Reads the parameters of one request. <see cref="AnswerFirstFaultAsync"/>, called last, answers an unknown,
/// repeated, empty or wrong parameter with 400; without it a misspelt filter would select all.
/// </summary>
internal sealed class QueryReader(HttpContext context, Problem? wrongValue = null)
{
    private const int LimitMax = 200;
    private const int LimitDefault = 50;

    private readonly HashSet<string> _known = [];
    private (Problem Problem, string Name, string Reason)? _fault;

    /// <summary>A text; null when the parameter is absent or wrong.</summary>
    public string? Text(string name)
    {
        _known.Add(name);
        if (!context.Request.Query.TryGetValue(name, out var values))
            return null;

        // PostgreSQL has no text with NUL.
        if (values is [{ Length: > 0 } text] && !text.Contains('\0', StringComparison.Ordinal))
            return text;

        NoteFault(name, "must be given once, not empty and without NUL.");
        return null;
    }

    /// <summary>A value; null when the parameter is absent or wrong.</summary>
    /// <param name="expected">The rule for its value, after "must be".</param>
    /// <param name="parse">Returns null for a wrong text.</param>
    public T? Value<T>(string name, string expected, Func<string, T?> parse)
    {
        if (Text(name) is not { } text)
            return default;

        var value = parse(text);
        if (value is null)
            NoteFault(name, $"must be {expected}.");
        return value;
    }

    /// <summary>
    /// The bounds from and to, both inclusive, UTC, in whole microseconds: from is rounded up, to is rounded down. So a
    /// window between two microseconds is empty, and its From is later than its To.
    /// </summary>
    /// <param name="wrongOrder">The problem when from is later than to.</param>
    public (DateTime? From, DateTime? To) Window(Problem? wrongOrder = null)
    {
        var (from, to) = (Time("from"), Time("to"));
        if (from?.Utc > to?.Utc)
            NoteFault("from", "is later than to.", wrongOrder);
        return (from is var (first, isWhole) ? first.AddMicroseconds(isWhole ? 0 : 1) : null, to?.Utc);
    }

    /// <summary>A member of an enum, as <see cref="Words"/> has it.</summary>
    public T? Word<T>(string name) where T : struct, Enum =>
        Value(name, $"one of {string.Join(", ", Enum.GetValues<T>().Select(Words.Of))}", Words.Find<T>);

    public int Limit() => Value(
        "limit", $"a whole number from 1 to {LimitMax}",
        static text => int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var limit)
            && limit is >= 1 and <= LimitMax ? limit : (int?)null) ?? LimitDefault;

    public T? After<T>(Func<string, T?> parse) =>
        Value("after", "the next of an earlier page, as it was", parse);

    /// <summary>Notes a fault that one value alone does not show; the first fault is answered.</summary>
    public void NoteFault(string name, string reason, Problem? problem = null) =>
        _fault ??= (problem ?? wrongValue ?? Problems.InvalidQuery, name, reason);

    /// <summary>Writes a 400 for the first fault.</summary>
    /// <returns>Whether there was one; the caller must then stop, because the request is answered.</returns>
    public async ValueTask<bool> AnswerFirstFaultAsync()
    {
        foreach (var name in context.Request.Query.Keys)
            if (!_known.Contains(name))
                NoteFault(name, "is no parameter of this call.", Problems.InvalidQuery);

        if (_fault is not var (problem, field, reason))
            return false;

        await ProblemAnswer.WriteAsync(context, problem, $"{field} {reason}", field);
        return true;
    }

    private (DateTime Utc, bool IsWhole)? Time(string name) => Value(
        name, "an ISO 8601 timestamp such as 2025-07-15T12:34:56.000Z",
        static text => Timestamps.TryParse(text, out var utc, out var isWhole)
            ? (utc, isWhole) : ((DateTime, bool)?)null);
}

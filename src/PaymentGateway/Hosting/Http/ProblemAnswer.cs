namespace PaymentGateway.Hosting.Http;

/// <summary>An error as RFC 9457 problem details; Field names the wrong member or parameter.</summary>
/// <remarks>IProblemDetailsService allocates four times as much (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed record ProblemAnswer(string Type, string Title, int Status, string Detail, string? Field)
{
    public static Task WriteAsync(
        HttpContext context, Problem problem, string detail, string? field = null, int? retryAfterSeconds = null)
    {
        context.Response.StatusCode = problem.Status;
        if (retryAfterSeconds is { } seconds)
            context.Response.Headers.RetryAfter = seconds.ToString(CultureInfo.InvariantCulture);
        return JsonAnswer.WriteAsync(
            context, new ProblemAnswer(problem.Type, problem.Title, problem.Status, detail, field),
            GatewayJsonContext.Default.ProblemAnswer, "application/problem+json");
    }

    /// <summary>404 for a path that does not exist.</summary>
    public static Task WriteNotFoundAsync(HttpContext context) =>
        WriteAsync(context, Problems.NotFound, "There is nothing at this path.");

    /// <summary>503 for a call that needs PostgreSQL while that is unavailable.</summary>
    public static Task WriteUnavailableAsync(HttpContext context) =>
        WriteAsync(context, Problems.LedgerUnavailable, "PostgreSQL does not answer. Try again.", null, 1);
}

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(ProblemAnswer))]
[JsonSerializable(typeof(JsonObject))]
internal sealed partial class GatewayJsonContext : JsonSerializerContext;

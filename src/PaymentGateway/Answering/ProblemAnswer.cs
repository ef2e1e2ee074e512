using System.Globalization;
using System.Text.Json.Serialization;

namespace PaymentGateway.Answering;

/// <summary>
/// An error as RFC 9457 problem details; field names the wrong member or parameter where there is one.
/// </summary>
/// <remarks>IProblemDetailsService allocates four times as much (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed record ProblemAnswer(
    string Type, string Title, int Status, string Detail,
    [property: JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)] string? Field)
{
    /// <summary>What the type of each problem begins with.</summary>
    public const string TypePrefix = "urn:problem:payment-gateway:";

    /// <summary>Writes a problem as the whole answer.</summary>
    /// <param name="context">The request that gets it.</param>
    /// <param name="status">The HTTP status.</param>
    /// <param name="title">Always the same for the same type.</param>
    /// <param name="detail">What is wrong with this request.</param>
    /// <param name="field">The wrong member or parameter.</param>
    /// <param name="retryAfterSeconds">When the client may come back.</param>
    public static Task WriteAsync(
        HttpContext context, int status, string title, string detail, string? field = null,
        int? retryAfterSeconds = null)
    {
        context.Response.StatusCode = status;
        if (retryAfterSeconds is { } seconds)
            context.Response.Headers.RetryAfter = seconds.ToString(CultureInfo.InvariantCulture);
        var type = TypePrefix + title.ToLowerInvariant().Replace(' ', '-');
        return JsonAnswer.WriteAsync(
            context, new ProblemAnswer(type, title, status, detail, field), GatewayJsonContext.Default.ProblemAnswer,
            "application/problem+json");
    }

    /// <summary>404 for a path that does not exist.</summary>
    public static Task WriteNotFoundAsync(HttpContext context) =>
        WriteAsync(context, 404, "Not found", "There is nothing at this path.");

    /// <summary>503 for a call that needs PostgreSQL while that is unavailable.</summary>
    public static Task WriteUnavailableAsync(HttpContext context) =>
        WriteAsync(context, 503, "Ledger unavailable", "PostgreSQL does not answer. Try again.", null, 1);
}

/// <summary>The answers that several folders give; each has a context for its own messages.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ProblemAnswer))]
internal sealed partial class GatewayJsonContext : JsonSerializerContext;

using System.Text.Json.Serialization.Metadata;

namespace PaymentGateway.Processors;

/// <summary>
/// The payment as a processor takes it and gives it back (contract.md, POST /payments and GET /payments/{id}).
/// </summary>
internal sealed record ProcessorPayment(
    [property: JsonRequired] Guid CorrelationId,
    [property: JsonRequired] decimal Amount,
    [property: JsonRequired] DateTime RequestedAt);

/// <summary>A processor's answer to a charge; the text is for people.</summary>
internal sealed record ChargeAnswer
{
    // Set, not constructed: a constructor called by the serializer allocates for each answer.
    [JsonRequired]
    public string? Message { get; set; }
}

/// <summary>A processor's answer to GET /payments/service-health.</summary>
internal sealed record HealthAnswer(
    [property: JsonRequired] bool Failing, [property: JsonRequired] int MinResponseTime);

/// <summary>A processor's answer to GET /admin/payments-summary, as far as it is compared.</summary>
internal sealed record AdminSummary(
    [property: JsonRequired] long TotalRequests, [property: JsonRequired] decimal TotalAmount);

/// <summary>The messages to and from a processor, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ProcessorPayment))]
[JsonSerializable(typeof(ChargeAnswer))]
[JsonSerializable(typeof(HealthAnswer))]
[JsonSerializable(typeof(AdminSummary))]
internal sealed partial class ProcessorJsonContext : JsonSerializerContext;

/// <summary>An answer of a processor, read whole.</summary>
/// <param name="RetryAfter">How long it asked to be left alone, in an answer that is no 200.</param>
internal sealed record ProcessorAnswer(int Status, ReadOnlyMemory<byte> Body, TimeSpan? RetryAfter)
{
    /// <returns>Null when it is not JSON of this type.</returns>
    public T? Read<T>(JsonTypeInfo<T> type) where T : class
    {
        try
        {
            return JsonSerializer.Deserialize(Body.Span, type);
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>The result of a charge; the contract tells the answers apart in the same way.</summary>
internal enum ChargeResult
{
    /// <summary>200: the processor has stored the payment.</summary>
    Settled,

    /// <summary>422: an earlier call was stored; a look-up tells its requestedAt.</summary>
    AlreadyStored,

    /// <summary>500 without a body, 429, not a byte sent: surely not stored by this call.</summary>
    Refused,

    /// <summary>400: not stored, and it would be so again.</summary>
    Rejected,

    /// <summary>The circuit breaker did not let it out: nothing was sent.</summary>
    NotSent,

    /// <summary>Timeout, broken connection, 500 with a body, another 4xx, anything else: perhaps stored.</summary>
    InDoubt,
}

/// <summary>A charge's result.</summary>
/// <param name="RetryAfter">How long the processor asked to be left alone, or null.</param>
/// <param name="Reason">For people: what was answered, where it was not 200.</param>
internal readonly record struct ChargeOutcome(ChargeResult Result, TimeSpan? RetryAfter = null, string? Reason = null);

/// <summary>The result of a look-up.</summary>
internal enum LookupResult
{
    /// <summary>200: stored there.</summary>
    Found,

    /// <summary>404: not stored there; a call in flight may still be.</summary>
    NotFound,

    /// <summary>No answer that says either.</summary>
    Unknown,
}

/// <summary>A look-up's result; amount and UTC requestedAt are the processor's own.</summary>
internal readonly record struct LookupOutcome(
    LookupResult Result, long AmountCents = 0, DateTime RequestedAt = default, TimeSpan? RetryAfter = null);

/// <summary>The tags of calls: their kind, and what came of them.</summary>
internal static class Calls
{
    public static readonly KeyValuePair<string, object?> Charge = new("call", "charge");
    public static readonly KeyValuePair<string, object?> LookUp = new("call", "look_up");
    public static readonly KeyValuePair<string, object?> Health = new("call", "health");
    public static readonly KeyValuePair<string, object?> Summary = new("call", "summary");
    public static readonly KeyValuePair<string, object?> Reported = new("outcome", "reported");
    public static readonly KeyValuePair<string, object?> Unknown = new("outcome", "unknown");

    private static readonly KeyValuePair<string, object?>[] OfCharges = OutcomesOf<ChargeResult>();
    private static readonly KeyValuePair<string, object?>[] OfLookUps = OutcomesOf<LookupResult>();

    public static KeyValuePair<string, object?> Of(ChargeResult result) => OfCharges[(int)result];

    public static KeyValuePair<string, object?> Of(LookupResult result) => OfLookUps[(int)result];

    private static KeyValuePair<string, object?>[] OutcomesOf<T>() where T : struct, Enum => Array.ConvertAll(
        Enum.GetNames<T>(),
        name => new KeyValuePair<string, object?>("outcome", JsonNamingPolicy.SnakeCaseLower.ConvertName(name)));
}

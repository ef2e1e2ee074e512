using System.Text.Json.Serialization.Metadata;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Charging;

/// <summary>A payment at a processor (contract.md, each processor).</summary>
internal sealed record ProcessorPayment(Guid CorrelationId, decimal Amount, DateTime RequestedAt);

/// <summary>The answer to a look-up; its time is text, because processors write it in several forms.</summary>
internal sealed record LookUpAnswer(
    [property: JsonRequired] Guid CorrelationId,
    [property: JsonRequired] decimal Amount,
    [property: JsonRequired] string? RequestedAt);

internal sealed record ChargeAnswer
{
    // A settable property, because a constructor called by the serializer allocates for each answer.
    [JsonRequired]
    public string? Message { get; set; }
}

/// <summary>GET /payments/service-health.</summary>
internal sealed record HealthAnswer(
    [property: JsonRequired] bool Failing, [property: JsonRequired] int MinResponseTime);

/// <summary>GET /admin/payments-summary.</summary>
internal sealed record AdminSummary(
    [property: JsonRequired] long TotalRequests, [property: JsonRequired] decimal TotalAmount);

// Names in another case and numbers in quotes have one meaning.
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, PropertyNameCaseInsensitive = true,
    NumberHandling = JsonNumberHandling.AllowReadingFromString)]
[JsonSerializable(typeof(ProcessorPayment))]
[JsonSerializable(typeof(LookUpAnswer))]
[JsonSerializable(typeof(ChargeAnswer))]
[JsonSerializable(typeof(HealthAnswer))]
[JsonSerializable(typeof(AdminSummary))]
internal sealed partial class ProcessorJsonContext : JsonSerializerContext;

/// <param name="RetryAfter">The pause that the processor asked for; null with a 200.</param>
/// <param name="IsCached">It has an Age, so a cache has answered by what it kept (RFC 9111, 5.1).</param>
internal sealed record ProcessorAnswer(
    int Status, ReadOnlyMemory<byte> Body, TimeSpan? RetryAfter, bool IsCached = false)
{
    private const int ShownMax = 200;

    private static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    /// <summary>The body is HTML or XML, so no processor of the contract sent it.</summary>
    public bool IsPage => Body.Span.TrimStart(" \t\r\n"u8) is [(byte)'<', ..];

    /// <returns>Null when it is not JSON of this type.</returns>
    public T? Read<T>(JsonTypeInfo<T> type) where T : class
    {
        try
        {
            var json = Body.Span;
            var begin = json.StartsWith(ByteOrderMark) ? ByteOrderMark.Length : 0;
            return JsonSerializer.Deserialize(json[begin..], type);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    /// <summary>The payment that a look-up found, in whole cents and UTC microseconds.</summary>
    /// <returns>Null when the answer has more than one meaning, or none.</returns>
    public ProcessorPayment? ReadStored()
    {
        var stored = Status == 200 ? Read(ProcessorJsonContext.Default.LookUpAnswer) : null;
        // PostgreSQL and others write a blank between date and time.
        var time = stored?.RequestedAt is { Length: > 10 } text && text[10] == ' '
            ? $"{text[..10]}T{text[11..]}" : stored?.RequestedAt;
        return stored is not null && Timestamps.TryParse(time, out var requestedAt, out _)
            ? new ProcessorPayment(stored.CorrelationId, Money.WithoutNoise(stored.Amount), requestedAt)
            : null;
    }

    /// <summary>For the log, which names no amount: a 0 stands for each digit of the body.</summary>
    public string Show() => $"{Status} " + LogFormatter.Visible(string.Concat(
        Encoding.UTF8.GetString(Body.Span[..Math.Min(Body.Length, ShownMax)])
            .Select(static one => char.IsAsciiDigit(one) ? '0' : one)), ShownMax);
}

/// <param name="Reason">For the log: the answer, where it was not 200.</param>
/// <param name="Next">What follows for the payment.</param>
internal readonly record struct ChargeOutcome(
    ChargeResult Result, TimeSpan? RetryAfter = null, string? Reason = null, NextStep Next = NextStep.Resolve);

internal enum LookupResult
{
    /// <summary>200: stored there.</summary>
    Found,

    /// <summary>404: not stored, if the processor itself says it; a call in flight may still be stored.</summary>
    NotFound,

    /// <summary>No answer, or 429.</summary>
    Unknown,

    /// <summary>An answer that the contract does not have, or in a form that has no clear meaning.</summary>
    Unreadable,
}

/// <summary>Amount and UTC requestedAt are the processor's own.</summary>
internal sealed record LookupOutcome(
    LookupResult Result, long AmountCents = 0, DateTime RequestedAt = default, TimeSpan? RetryAfter = null);

internal enum SummaryResult
{
    /// <summary>200: the sums are the processor's.</summary>
    Reported,

    /// <summary>401 or 403: the token is wrong.</summary>
    Refused,

    /// <summary>No clear answer.</summary>
    Unknown,
}

internal readonly record struct SummaryOutcome(SummaryResult Result, long Payments = 0, decimal Cents = 0);

/// <summary>The tags of calls: kind and outcome.</summary>
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

using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Runtime.CompilerServices;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using Polly.CircuitBreaker;

namespace PaymentGateway.Processors;

/// <summary>The typed client of one processor: charge, look up, ask for health. Safe from any thread.</summary>
/// <param name="http">Ends in a <see cref="CallGuardHandler"/>, which reads each call's answer.</param>
/// <param name="baseUrl">Where the processor listens.</param>
/// <param name="lease">Without it no charge leaves.</param>
internal sealed class ProcessorClient(
    HttpMessageInvoker http, Uri baseUrl, Processor processor, Lease lease, TimeProvider clock)
{
    // The contract's processor says 5 s; a date of another clock may be in the past, or a day ahead.
    private const double RetryAfterSecondsMax = 30;

    private static readonly TimeSpan WithoutRetryAfter = TimeSpan.FromSeconds(1);
    private readonly Uri _payments = new(baseUrl, "payments");
    private readonly Uri _health = new(baseUrl, "payments/service-health");

    public Processor Processor { get; } = processor;

    /// <summary>Charges once. The caller decides what follows; nothing is repeated here.</summary>
    /// <param name="payment">Its id, amount and RequestedAt are sent.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        using var content = new ChargeContent(payment, lease);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, _payments) { Content = content };
            if (payment.Trace is not null)
                Propagate(request);
            using var response = await http.SendAsync(request, CancellationToken.None);
            return Judge(response);
        }
        catch (BrokenCircuitException)
        {
            return new ChargeOutcome(ChargeResult.NotSent, null, "the circuit is open");
        }
        catch (Exception failed) when (!content.HasBegun)
        {
            // No connection, or none in time, or the lease has expired meanwhile.
            return new ChargeOutcome(ChargeResult.Refused, null, failed.Message);
        }
        catch (Exception broken)
        {
            // Whatever it was, bytes may have gone out.
            return new ChargeOutcome(ChargeResult.InDoubt, null, broken.Message);
        }
    }

    /// <summary>
    /// Asks whether the processor has stored a payment; its switches do not delay this, its limiter may.
    /// </summary>
    public async Task<LookupOutcome> LookUpAsync(Guid id)
    {
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(baseUrl, $"payments/{id}"));
            using var response = await http.SendAsync(request, CancellationToken.None);
            if (response.StatusCode == HttpStatusCode.NotFound)
                return new LookupOutcome(LookupResult.NotFound);

            var stored = response.StatusCode == HttpStatusCode.OK
                ? Read(response, ProcessorJsonContext.Default.ProcessorPayment)
                : null;
            return stored?.CorrelationId == id && Money.TryToCents(stored.Amount, out var cents)
                ? new LookupOutcome(LookupResult.Found, cents, ToUtc(stored.RequestedAt))
                : new LookupOutcome(LookupResult.Unknown, RetryAfter: RetryAfter(response));
        }
        catch (Exception)
        {
            // Whatever it was, it says nothing. .NET 8 lets a bare SocketException out, too, when the peer resets a
            // connection that was just made.
            return new LookupOutcome(LookupResult.Unknown);
        }
    }

    /// <summary>Asks for the processor's health report; null when there was none.</summary>
    public async Task<HealthReport?> AskHealthAsync()
    {
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, _health);
            using var response = await http.SendAsync(request, CancellationToken.None);
            var answer = response.StatusCode == HttpStatusCode.OK
                ? Read(response, ProcessorJsonContext.Default.HealthAnswer)
                : null;
            return answer is null
                ? null
                : new HealthReport(answer.Failing, TimeSpan.FromMilliseconds(answer.MinResponseTime), TimeSpan.Zero);
        }
        catch (Exception)
        {
            return null;
        }
    }

    // By hand: the handler's own way would look for a trace at each call.
    private static void Propagate(HttpRequestMessage request)
    {
        if (Activity.Current is not { } span)
            return;

        request.Headers.TryAddWithoutValidation("traceparent", span.Id);
        if (!string.IsNullOrEmpty(span.TraceStateString))
            request.Headers.TryAddWithoutValidation("tracestate", span.TraceStateString);
    }

    private ChargeOutcome Judge(HttpResponseMessage response)
    {
        var status = (int)response.StatusCode;
        switch (status)
        {
            case 200:
                return new ChargeOutcome(ChargeResult.Settled);
            case 422:
                return new ChargeOutcome(ChargeResult.AlreadyStored, null, "422");
            case 429:
                return new ChargeOutcome(ChargeResult.Refused, RetryAfter(response) ?? WithoutRetryAfter, "429");
            case 500:
                // The failure switch answers without a body; a body comes from the database path, after the row
                // may have been stored (contract.md, what follows).
                return CallGuardHandler.AnswerOf(response).IsEmpty
                    ? new ChargeOutcome(ChargeResult.Refused, null, "500")
                    : new ChargeOutcome(ChargeResult.InDoubt, null, "500 with a body");
            case 400:
                return new ChargeOutcome(ChargeResult.Rejected, null, "400");
            default:
                // Another 4xx is none of the contract: it comes from something in between, which may have passed the
                // call on before (a proxy that asks the next of its servers, or gives the first one up).
                return new ChargeOutcome(ChargeResult.InDoubt, null, status.ToString(CultureInfo.InvariantCulture));
        }
    }

    /// <summary>Parses an answer's body.</summary>
    /// <returns>Null when the body is not JSON of this type.</returns>
    public static T? Read<T>(HttpResponseMessage response, JsonTypeInfo<T> type) where T : class
    {
        try
        {
            return JsonSerializer.Deserialize(CallGuardHandler.AnswerOf(response), type);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private TimeSpan? RetryAfter(HttpResponseMessage response)
    {
        var header = response.Headers.RetryAfter;
        var asked = header?.Delta ?? (header?.Date is { } date ? date - clock.GetUtcNow() : null);
        return asked is { } wait ? TimeSpan.FromSeconds(Math.Clamp(wait.TotalSeconds, 0, RetryAfterSecondsMax)) : null;
    }

    // A timestamp without a zone is the processor's UTC.
    private static DateTime ToUtc(DateTime stamp) => Timestamps.Truncate(stamp.Kind == DateTimeKind.Local
        ? stamp.ToUniversalTime()
        : DateTime.SpecifyKind(stamp, DateTimeKind.Utc));
}

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

/// <summary>The tags of calls: their kind, and what came of them.</summary>
internal static class Calls
{
    public static readonly KeyValuePair<string, object?> Charge = new("call", "charge");
    public static readonly KeyValuePair<string, object?> LookUp = new("call", "look_up");
    public static readonly KeyValuePair<string, object?> Health = new("call", "health");
    public static readonly KeyValuePair<string, object?> Summary = new("call", "summary");

    private static readonly KeyValuePair<string, object?>[] OfCharges =
    [
        Outcome("settled"), Outcome("already_stored"), Outcome("refused"), Outcome("rejected"), Outcome("not_sent"),
        Outcome("in_doubt"),
    ];

    private static readonly KeyValuePair<string, object?>[] OfLookUps =
        [Outcome("found"), Outcome("not_found"), Outcome("unknown")];

    private static readonly KeyValuePair<string, object?> Reported = Outcome("reported");
    private static readonly KeyValuePair<string, object?> Unknown = Outcome("unknown");

    public static KeyValuePair<string, object?> Of(ChargeResult result) => OfCharges[(int)result];

    public static KeyValuePair<string, object?> Of(LookupResult result) => OfLookUps[(int)result];

    public static KeyValuePair<string, object?> Of(HealthReport? report) => report is null ? Unknown : Reported;

    public static KeyValuePair<string, object?> Of(SummaryResult result) =>
        result == SummaryResult.Reported ? Reported : Unknown;

    private static KeyValuePair<string, object?> Outcome(string name) => new("outcome", name);
}

/// <summary>What a charge came to, exactly as the contract tells the answers apart.</summary>
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

/// <summary>What a look-up came to.</summary>
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

using System.Text.Json.Serialization;

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

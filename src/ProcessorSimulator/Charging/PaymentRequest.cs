using System.Text.Json.Serialization;

namespace ProcessorSimulator.Charging;

/// <summary>The body of POST /payments; one without all three fields is refused as malformed.</summary>
internal sealed class PaymentRequest
{
    [JsonRequired]
    public Guid CorrelationId { get; set; }

    [JsonRequired]
    public decimal Amount { get; set; }

    [JsonRequired]
    public DateTime RequestedAt { get; set; }
}

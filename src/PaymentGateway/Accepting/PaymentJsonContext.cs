using System.Text.Json.Serialization;

namespace PaymentGateway.Accepting;

/// <summary>The body of POST /payments, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(PaymentRequest))]
internal sealed partial class PaymentJsonContext : JsonSerializerContext;

using System.Text.Json.Serialization;

namespace PaymentGateway.Querying;

/// <summary>The answers about single payments, for the serializer.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(PaymentAnswer))]
[JsonSerializable(typeof(PaymentList))]
internal sealed partial class QueryJsonContext : JsonSerializerContext;

using System.Text.Json.Serialization;

namespace PaymentGateway.Settling;

/// <summary>The answers to an operator, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(List<ParkedPayment>))]
[JsonSerializable(typeof(ParkedReplay))]
internal sealed partial class ParkedJsonContext : JsonSerializerContext;

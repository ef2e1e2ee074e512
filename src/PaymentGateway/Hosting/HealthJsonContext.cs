using System.Text.Json.Serialization;

namespace PaymentGateway.Hosting;

/// <summary>The answer of a ready instance, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ReadyAnswer))]
internal sealed partial class HealthJsonContext : JsonSerializerContext;

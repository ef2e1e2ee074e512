using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Hosting;

/// <summary>The answer of a ready instance, for the serializer.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReadyAnswer))]
internal sealed partial class HealthJsonContext : JsonSerializerContext;

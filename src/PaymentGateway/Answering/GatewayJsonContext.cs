using System.Text.Json.Serialization;

namespace PaymentGateway.Answering;

/// <summary>The answers that several folders give; each has a context for its own messages.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ProblemAnswer))]
internal sealed partial class GatewayJsonContext : JsonSerializerContext;

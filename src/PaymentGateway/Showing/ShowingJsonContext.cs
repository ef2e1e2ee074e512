using System.Text.Json.Serialization;

namespace PaymentGateway.Showing;

/// <summary>What the page is sent, and what instances tell each other for it.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(Overview))]
[JsonSerializable(typeof(InstanceReading))]
internal sealed partial class ShowingJsonContext : JsonSerializerContext;

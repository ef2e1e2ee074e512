using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Showing;

/// <summary>What the page is sent, and what instances tell each other for it.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(Overview))]
[JsonSerializable(typeof(InstanceReading))]
internal sealed partial class ShowingJsonContext : JsonSerializerContext;

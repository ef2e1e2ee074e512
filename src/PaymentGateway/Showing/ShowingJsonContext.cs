using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Showing;

/// <summary>What the page is sent.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(Overview))]
internal sealed partial class ShowingJsonContext : JsonSerializerContext;

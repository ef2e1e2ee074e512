using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Settling;

/// <summary>The answers to an operator, for the serializer.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(List<ParkedPayment>))]
[JsonSerializable(typeof(ParkedReplay))]
internal sealed partial class ParkedJsonContext : JsonSerializerContext;

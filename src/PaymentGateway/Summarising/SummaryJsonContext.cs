using System.Text.Json.Serialization;

namespace PaymentGateway.Summarising;

/// <summary>The answer to the auditor, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(PaymentsSummary))]
internal sealed partial class SummaryJsonContext : JsonSerializerContext;

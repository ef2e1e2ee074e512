using System.Text.Json.Serialization;

namespace PaymentGateway.Processors;

/// <summary>The messages to and from a processor, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ProcessorPayment))]
[JsonSerializable(typeof(ChargeAnswer))]
[JsonSerializable(typeof(HealthAnswer))]
[JsonSerializable(typeof(AdminSummary))]
internal sealed partial class ProcessorJsonContext : JsonSerializerContext;

using System.Text.Json.Serialization;
using PaymentGateway.Accepting;
using PaymentGateway.Settling;
using PaymentGateway.Summarising;

namespace PaymentGateway;

/// <summary>Every type that crosses the wire, here and at the processors.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(PaymentRequest))]
[JsonSerializable(typeof(PaymentsSummary))]
[JsonSerializable(typeof(ProblemAnswer))]
[JsonSerializable(typeof(ProcessorPayment))]
[JsonSerializable(typeof(ChargeAnswer))]
[JsonSerializable(typeof(List<ParkedPayment>))]
[JsonSerializable(typeof(ParkedReplay))]
[JsonSerializable(typeof(ReadyAnswer))]
[JsonSerializable(typeof(HealthAnswer))]
internal sealed partial class GatewayJsonContext : JsonSerializerContext;

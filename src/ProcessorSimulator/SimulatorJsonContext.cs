using System.Text.Json;
using System.Text.Json.Serialization;
using ProcessorSimulator.Administering;
using ProcessorSimulator.Auditing;
using ProcessorSimulator.Charging;
using ProcessorSimulator.HealthChecking;

namespace ProcessorSimulator;

/// <summary>Every type that crosses the wire, by the web defaults, as at the real processor.</summary>
[JsonSourceGenerationOptions(JsonSerializerDefaults.Web)]
[JsonSerializable(typeof(PaymentRequest))]
[JsonSerializable(typeof(PaymentRequest[]))]
[JsonSerializable(typeof(StoredPayment))]
[JsonSerializable(typeof(MessageBody))]
[JsonSerializable(typeof(ServiceHealth))]
[JsonSerializable(typeof(PaymentsSummary))]
[JsonSerializable(typeof(TokenRequest))]
[JsonSerializable(typeof(DelayRequest))]
[JsonSerializable(typeof(FailureRequest))]
[JsonSerializable(typeof(ConfigurationChange<int>))]
[JsonSerializable(typeof(ConfigurationChange<bool>))]
[JsonSerializable(typeof(FaultSettings))]
[JsonSerializable(typeof(CallCount))]
[JsonSerializable(typeof(Dictionary<string, long>))]
internal sealed partial class SimulatorJsonContext : JsonSerializerContext;

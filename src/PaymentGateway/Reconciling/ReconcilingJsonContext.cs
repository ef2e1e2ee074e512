using System.Text.Json;
using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Reconciling;

/// <summary>The answers of a reconciliation, for the serializer.</summary>
[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReconciliationAnswer))]
[JsonSerializable(typeof(ProgressAnswer))]
internal sealed partial class ReconcilingJsonContext : JsonSerializerContext;

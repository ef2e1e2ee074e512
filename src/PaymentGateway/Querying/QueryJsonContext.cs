using System.Text.Json;
using System.Text.Json.Serialization;
using PaymentGateway.Answering;

namespace PaymentGateway.Querying;

/// <summary>The answers about single payments, for the serializer.</summary>
[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(PaymentAnswer))]
[JsonSerializable(typeof(PaymentList))]
internal sealed partial class QueryJsonContext : JsonSerializerContext;

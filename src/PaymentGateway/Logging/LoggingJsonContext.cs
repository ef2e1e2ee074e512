using System.Text.Json.Serialization;

namespace PaymentGateway.Logging;

/// <summary>The messages of /admin/logging, for the serializer.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(LogLevelChange))]
[JsonSerializable(typeof(LogLevelsAnswer))]
internal sealed partial class LoggingJsonContext : JsonSerializerContext;

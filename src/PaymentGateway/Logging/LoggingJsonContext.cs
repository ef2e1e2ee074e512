using System.Text.Json;
using System.Text.Json.Serialization;

namespace PaymentGateway.Logging;

/// <summary>The messages of /admin/logging, for the serializer; an unknown member is refused.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    UnmappedMemberHandling = JsonUnmappedMemberHandling.Disallow)]
[JsonSerializable(typeof(LogLevelChange))]
[JsonSerializable(typeof(LogLevelsAnswer))]
internal sealed partial class LoggingJsonContext : JsonSerializerContext;

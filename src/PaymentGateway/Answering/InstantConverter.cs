using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace PaymentGateway.Answering;

/// <summary>Writes an instant (UTC) with six decimals always; the serializer drops zeros at the end.</summary>
internal sealed class InstantConverter : JsonConverter<DateTime>
{
    public override DateTime Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetDateTime();

    public override void Write(Utf8JsonWriter writer, DateTime value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value.ToString("yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'", CultureInfo.InvariantCulture));
}

using System.Text.Json.Serialization.Metadata;

namespace PaymentGateway.Hosting.Http;

/// <summary>An answer in JSON: no cache keeps it, and no browser takes it for something else.</summary>
internal static class JsonAnswer
{
    /// <summary>Writes a value as the whole answer; application/json where no other content type is given.</summary>
    public static Task WriteAsync<T>(
        HttpContext context, T value, JsonTypeInfo<T> type, string? contentType = null)
    {
        SetHeaders(context.Response);
        return context.Response.WriteAsJsonAsync(value, type, contentType);
    }

    /// <summary>Sets the headers alone, for an answer that is written in parts.</summary>
    public static void SetHeaders(HttpResponse response)
    {
        response.Headers.CacheControl = "no-store";
        response.Headers.XContentTypeOptions = "nosniff";
    }
}

/// <summary>Writes an instant (UTC) with six decimals always; the serializer drops zeros at the end.</summary>
internal sealed class InstantConverter : JsonConverter<DateTime>
{
    public override DateTime Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetDateTime();

    public override void Write(Utf8JsonWriter writer, DateTime value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value.ToString("yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'", CultureInfo.InvariantCulture));
}

/// <summary>Writes members of an enum as words, such as in_doubt.</summary>
internal sealed class WordConverter<T>() : JsonStringEnumConverter<T>(JsonNamingPolicy.SnakeCaseLower)
    where T : struct, Enum;

/// <summary>The same words in parameters, metrics and the log.</summary>
internal static class Words
{
    public static string Of<T>(T value) where T : struct, Enum =>
        JsonNamingPolicy.SnakeCaseLower.ConvertName(value.ToString());

    /// <returns>Null when no member has this word.</returns>
    public static T? Find<T>(string word) where T : struct, Enum
    {
        foreach (var value in Enum.GetValues<T>())
            if (Of(value) == word)
                return value;

        return null;
    }
}

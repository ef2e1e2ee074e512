using System.Buffers;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace ProcessorSimulator;

/// <summary>Reads a request's JSON and writes an answer's, straight from and to the connection's pipes.</summary>
internal static class JsonBody
{
    private const string ContentType = "application/json; charset=utf-8";

    /// <summary>Null means that there is no such value and that the answer, if anyone waits for it, is set.</summary>
    public static async ValueTask<T?> ReadAsync<T>(HttpContext context, JsonTypeInfo<T> type)
        where T : class
    {
        try
        {
            var body = context.Request.BodyReader;
            var read = await body.ReadAsync();
            while (!read.IsCompleted)
            {
                body.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                read = await body.ReadAsync();
            }

            var value = Parse(read.Buffer, type);
            body.AdvanceTo(read.Buffer.End);
            if (value is null)
                context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return value;
        }
        catch (BadHttpRequestException refused)
        {
            context.Response.StatusCode = refused.StatusCode;
            return null;
        }
        catch (Exception failed) when (failed is IOException or OperationCanceledException)
        {
            // The caller left before it had sent the whole body: nothing to do, and nobody to tell.
            context.Abort();
            return null;
        }
    }

    public static Task WriteAsync<T>(HttpContext context, T value, JsonTypeInfo<T> type) =>
        WriteAsync(context, JsonSerializer.SerializeToUtf8Bytes(value, type));

    /// <summary>A caller that has left is no error: Kestrel drops what is written for it.</summary>
    public static async Task WriteAsync(HttpContext context, byte[] json)
    {
        Start(context, json.Length);
        await context.Response.BodyWriter.WriteAsync(json);
    }

    public static void Start(HttpContext context, long? length = null)
    {
        context.Response.ContentType = ContentType;
        context.Response.ContentLength = length;
    }

    private static T? Parse<T>(ReadOnlySequence<byte> json, JsonTypeInfo<T> type)
        where T : class
    {
        try
        {
            var reader = new Utf8JsonReader(json);
            var value = JsonSerializer.Deserialize(ref reader, type);
            // Anything but white space after the value makes the next read throw.
            reader.Read();
            return value;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

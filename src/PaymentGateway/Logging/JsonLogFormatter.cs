using System.Buffers;
using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Logging;

/// <summary>
/// A log entry as one line of JSON, all in ASCII: time (UTC), level, category, event id and name, message, its named
/// values, and where there are any traceId and spanId, scopes and exception. Any thread.
/// </summary>
/// <remarks>The framework's own has no event name and no trace (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class JsonLogFormatter(TimeProvider clock) : ConsoleFormatter(FormatterName)
{
    public const string FormatterName = "json-lines";

    // What a generated message says besides its values: the template.
    private const string Template = "{OriginalFormat}";

    public override void Write<TState>(
        in LogEntry<TState> logEntry, IExternalScopeProvider? scopeProvider, TextWriter textWriter)
    {
        var line = new ArrayBufferWriter<byte>(512);
        using (var json = new Utf8JsonWriter(line))
        {
            json.WriteStartObject();
            json.WriteString(
                "time", clock.GetUtcNow().ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture));
            json.WriteString("level", logEntry.LogLevel.ToString());
            json.WriteString("category", logEntry.Category);
            json.WriteNumber("eventId", logEntry.EventId.Id);
            if (logEntry.EventId.Name is { } name)
                json.WriteString("event", name);
            json.WriteString("message", logEntry.Formatter(logEntry.State, logEntry.Exception));
            if (Activity.Current is { IdFormat: ActivityIdFormat.W3C } activity)
            {
                json.WriteString("traceId", activity.TraceId.ToHexString());
                json.WriteString("spanId", activity.SpanId.ToHexString());
            }

            if (logEntry.State is IReadOnlyList<KeyValuePair<string, object?>> values && HasValues(values))
            {
                json.WritePropertyName("values");
                WriteValues(json, values);
            }

            WriteScopes(json, scopeProvider);
            if (logEntry.Exception is { } exception)
                json.WriteString("exception", exception.ToString());
            json.WriteEndObject();
        }

        textWriter.Write(Encoding.ASCII.GetString(line.WrittenSpan));
        textWriter.Write('\n');
    }

    private static bool HasValues(IReadOnlyList<KeyValuePair<string, object?>> values) =>
        values.Any(value => value.Key != Template);

    private static void WriteScopes(Utf8JsonWriter json, IExternalScopeProvider? scopes)
    {
        var began = false;
        scopes?.ForEachScope(
            (scope, writer) =>
            {
                if (!began)
                    writer.WriteStartArray("scopes");
                began = true;
                if (scope is IEnumerable<KeyValuePair<string, object?>> values)
                    WriteValues(writer, values);
                else
                    writer.WriteStringValue(scope?.ToString());
            },
            json);
        if (began)
            json.WriteEndArray();
    }

    // In camelCase, as in the API: a payment's correlationId is found under the name that it was posted with.
    private static void WriteValues(Utf8JsonWriter json, IEnumerable<KeyValuePair<string, object?>> values)
    {
        json.WriteStartObject();
        foreach (var (name, value) in values)
        {
            if (name == Template)
                continue;

            json.WritePropertyName(JsonNamingPolicy.CamelCase.ConvertName(name));
            WriteValue(json, value);
        }

        json.WriteEndObject();
    }

    private static void WriteValue(Utf8JsonWriter json, object? value)
    {
        switch (value)
        {
            case null:
                json.WriteNullValue();
                break;
            case bool flag:
                json.WriteBooleanValue(flag);
                break;
            case int or short or byte or long:
                json.WriteNumberValue(Convert.ToInt64(value, CultureInfo.InvariantCulture));
                break;
            case DateTime time:
                json.WriteStringValue(time);
                break;
            case DateTimeOffset time:
                json.WriteStringValue(time);
                break;
            case IEnumerable and not string:
                json.WriteStringValue(string.Join(", ", ((IEnumerable)value).Cast<object?>()));
                break;
            default:
                json.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture));
                break;
        }
    }
}

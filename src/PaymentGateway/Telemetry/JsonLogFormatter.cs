using System.Buffers;
using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Telemetry;

/// <summary>
/// A log entry as one line of JSON, all in ASCII: time (UTC), level, category, event id and name, message, its named
/// values, and where there are any traceId and spanId, scopes and exception. Any thread. The trace is that of the
/// payment that is among the values, or else of what runs here.
/// </summary>
/// <remarks>The framework's own has no event name and no trace (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class JsonLogFormatter(TimeProvider clock) : ConsoleFormatter(FormatterName)
{
    public const string FormatterName = "json-lines";

    // What a generated message says besides its values: the template.
    private const string Template = "{OriginalFormat}";

    // The native compiler makes one of these for each type of message, so it does nothing itself.
    public override void Write<TState>(
        in LogEntry<TState> logEntry, IExternalScopeProvider? scopeProvider, TextWriter textWriter) =>
        Write(
            new Entry(
                logEntry.LogLevel, logEntry.Category, logEntry.EventId,
                logEntry.Formatter(logEntry.State, logEntry.Exception), logEntry.State, logEntry.Exception),
            scopeProvider, textWriter);

    private void Write(in Entry entry, IExternalScopeProvider? scopes, TextWriter text)
    {
        var line = new ArrayBufferWriter<byte>(512);
        using (var json = new Utf8JsonWriter(line))
        {
            json.WriteStartObject();
            json.WriteString(
                "time", clock.GetUtcNow().ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture));
            json.WriteString("level", entry.Level.ToString());
            json.WriteString("category", entry.Category);
            json.WriteNumber("eventId", entry.Event.Id);
            if (entry.Event.Name is { } name)
                json.WriteString("event", name);
            json.WriteString("message", entry.Message);
            var values = entry.State as IReadOnlyList<KeyValuePair<string, object?>> ?? [];
            if (TraceOf(values) is { } trace)
            {
                json.WriteString("traceId", trace.TraceId.ToHexString());
                json.WriteString("spanId", trace.SpanId.ToHexString());
            }

            if (HasValues(values))
            {
                json.WritePropertyName("values");
                WriteValues(json, values);
            }

            WriteScopes(json, scopes);
            if (entry.Exception is { } exception)
                json.WriteString("exception", exception.ToString());
            json.WriteEndObject();
        }

        text.Write(Encoding.ASCII.GetString(line.WrittenSpan));
        text.Write('\n');
    }

    private static ActivityContext? TraceOf(IEnumerable<KeyValuePair<string, object?>> values) =>
        values.Select(value => value.Value).OfType<Payment>().FirstOrDefault()?.Trace?.Request
        ?? (Activity.Current is { IdFormat: ActivityIdFormat.W3C } activity ? activity.Context : null);

    private static bool HasValues(IEnumerable<KeyValuePair<string, object?>> values) =>
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

    /// <summary>An entry of any type of message.</summary>
    private readonly record struct Entry(
        LogLevel Level, string Category, EventId Event, string Message, object? State, Exception? Exception);
}

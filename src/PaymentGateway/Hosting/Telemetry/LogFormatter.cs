using System.Collections;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Hosting.Telemetry;

/// <summary>
/// Writes a log entry as one line that no value can forge: text of visible characters, or JSON in ASCII. Any thread.
/// </summary>
/// <remarks>The framework's formatters cannot (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class LogFormatter(LogFormat format, TimeProvider clock) : ConsoleFormatter(FormatterName)
{
    public const string FormatterName = "lines";

    // A generated message has its template among its values.
    private const string Template = "{OriginalFormat}";

    // From Trace up.
    private static readonly string[] LevelNames = ["trce", "dbug", "info", "warn", "fail", "crit"];

    // Short, because the native compiler makes a copy for each type of message.
    public override void Write<TState>(
        in LogEntry<TState> logEntry, IExternalScopeProvider? scopeProvider, TextWriter textWriter)
    {
        var message = logEntry.Formatter(logEntry.State, logEntry.Exception);
        textWriter.Write(format == LogFormat.Json
            ? Json(logEntry.LogLevel, logEntry.Category, logEntry.EventId, message, logEntry.State, logEntry.Exception)
            : Text(logEntry.LogLevel, logEntry.Category, logEntry.EventId, message, logEntry.Exception));
        textWriter.Write('\n');
    }

    private string Now() => clock.GetUtcNow().ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);

    private string Text(LogLevel level, string category, EventId id, string message, Exception? exception)
    {
        var line = new StringBuilder(256);
        line.Append(CultureInfo.InvariantCulture, $"{Now()} {LevelNames[(int)level]}: {category}[{id.Id}] ");
        AppendVisible(line, message);
        if (exception is not null)
            AppendVisible(line.Append(' '), exception.ToString());
        return line.ToString();
    }

    /// <summary>
    /// Text of a peer, as a line can show it: a space stands for a run of invisible characters, and at most
    /// <paramref name="max"/> characters of the text are read.
    /// </summary>
    public static string Visible(string text, int max = int.MaxValue)
    {
        var line = new StringBuilder();
        AppendVisible(line, text.Length > max ? text[..max] : text);
        return line.ToString();
    }

    // Writes a space for a run of invisible characters, which would forge a line or move a terminal's cursor.
    private static void AppendVisible(StringBuilder line, string text)
    {
        foreach (var letter in text)
            if (char.GetUnicodeCategory(letter) is not (UnicodeCategory.Control or UnicodeCategory.Format
                or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator))
                line.Append(letter);
            else if (line.Length == 0 || line[^1] != ' ')
                line.Append(' ');
    }

    private string Json(
        LogLevel level, string category, EventId id, string message, object? state, Exception? exception)
    {
        var line = new JsonObject
        {
            ["time"] = Now(),
            ["level"] = level.ToString(),
            ["category"] = category,
            ["eventId"] = id.Id,
        };
        if (id.Name is { } name)
            line["event"] = name;
        line["message"] = message;
        var values = state as IReadOnlyList<KeyValuePair<string, object?>> ?? [];
        if (TraceOf(values) is { } trace)
            (line["traceId"], line["spanId"]) = (trace.TraceId.ToHexString(), trace.SpanId.ToHexString());
        // In camelCase, as in the API: a payment's correlationId has the name that it was posted with.
        var named = new JsonObject();
        foreach (var (key, value) in values)
            if (key != Template)
                named[JsonNamingPolicy.CamelCase.ConvertName(key)] = ValueOf(value);
        if (named.Count > 0)
            line["values"] = named;
        if (exception is not null)
            line["exception"] = exception.ToString();
        return line.ToJsonString();
    }

    // A payment's trace outlives its request.
    private static ActivityContext? TraceOf(IEnumerable<KeyValuePair<string, object?>> values) =>
        values.Select(value => value.Value).OfType<Payment>().FirstOrDefault()?.Trace?.Request
        ?? (Activity.Current is { IdFormat: ActivityIdFormat.W3C } activity ? activity.Context : null);

    private static JsonNode? ValueOf(object? value) => value switch
    {
        null => null,
        bool flag => flag,
        int number => number,
        long number => number,
        DateTime time => time,
        IEnumerable many and not string => string.Join(", ", many.Cast<object?>()),
        _ => Convert.ToString(value, CultureInfo.InvariantCulture),
    };
}

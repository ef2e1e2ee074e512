using System.Globalization;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Telemetry;

/// <summary>
/// A log entry as one line to read: time (UTC), level, category, event id, message, and the exception where there is
/// one. Any thread.
/// </summary>
/// <remarks>
/// The framework's own writes control characters as they come, and a path or an answer may have any: they would forge a
/// line, or change what a terminal shows of another.
/// </remarks>
internal sealed class TextLogFormatter(TimeProvider clock) : ConsoleFormatter(FormatterName)
{
    public const string FormatterName = "text-lines";

    // The native compiler makes one of these for each type of message, so it does nothing itself.
    public override void Write<TState>(
        in LogEntry<TState> logEntry, IExternalScopeProvider? scopeProvider, TextWriter textWriter) =>
        Write(
            logEntry.LogLevel, $"{logEntry.Category}[{logEntry.EventId.Id}]",
            logEntry.Formatter(logEntry.State, logEntry.Exception), logEntry.Exception, textWriter);

    private void Write(LogLevel level, string source, string message, Exception? exception, TextWriter text)
    {
        var line = new StringBuilder(256);
        line.Append(clock.GetUtcNow().ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z' ", CultureInfo.InvariantCulture))
            .Append(NameOf(level)).Append(": ").Append(source).Append(' ');
        AppendVisible(line, message);
        if (exception is not null)
            AppendVisible(line.Append(' '), exception.ToString());
        text.Write(line.Append('\n').ToString());
    }

    // A space for whatever is not seen, and one for several of them: an exception's line ends are such.
    private static void AppendVisible(StringBuilder line, string text)
    {
        foreach (var letter in text)
            if (!IsHidden(letter))
                line.Append(letter);
            else if (line[^1] != ' ')
                line.Append(' ');
    }

    private static bool IsHidden(char letter) => char.GetUnicodeCategory(letter) is
        UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator
        or UnicodeCategory.ParagraphSeparator;

    private static string NameOf(LogLevel level) => level switch
    {
        LogLevel.Trace => "trce",
        LogLevel.Debug => "dbug",
        LogLevel.Information => "info",
        LogLevel.Warning => "warn",
        LogLevel.Error => "fail",
        _ => "crit",
    };
}

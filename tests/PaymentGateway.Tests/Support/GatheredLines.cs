using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Tests.Support;

/// <summary>Every line that is logged through its provider, as JSON unless another formatter is given.</summary>
internal sealed class GatheredLines(ConsoleFormatter? formatter = null)
{
    private readonly ConcurrentQueue<string> _lines = new();
    private readonly ConsoleFormatter _formatter = formatter ?? new LogFormatter(LogFormat.Json, TimeProvider.System);

    public IReadOnlyCollection<string> Lines => _lines;

    /// <summary>For a factory, also for one that loggers exist of already.</summary>
    public ILoggerProvider NewProvider() => new Provider(this);

    private void Write<TState>(in LogEntry<TState> entry)
    {
        using var line = new StringWriter();
        _formatter.Write(entry, null, line);
        _lines.Enqueue(line.ToString());
    }

    private sealed class Provider(GatheredLines lines) : ILoggerProvider
    {
        public ILogger CreateLogger(string categoryName) => new Category(lines, categoryName);

        public void Dispose()
        {
            // There is nothing to end.
        }
    }

    private sealed class Category(GatheredLines lines, string name) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter) =>
            lines.Write(new LogEntry<TState>(logLevel, name, eventId, state, exception, formatter));
    }
}

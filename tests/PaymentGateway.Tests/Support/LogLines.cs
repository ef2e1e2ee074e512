using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace PaymentGateway.Tests.Support;

/// <summary>Keeps what is logged, line by line.</summary>
internal sealed class LogLines<T> : ILogger<T>
{
    private readonly ConcurrentQueue<string> _lines = new();

    public IReadOnlyCollection<string> Lines => _lines;

    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter) => _lines.Enqueue(formatter(state, exception));
}

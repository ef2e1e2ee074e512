using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace PaymentGateway.Tests.Support;

/// <summary>Keeps what is logged, line by line.</summary>
internal sealed class LogLines<T> : ILogger<T>
{
    private readonly ConcurrentQueue<string> lines = new();

    public IReadOnlyCollection<string> Lines => lines;

    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter) => lines.Enqueue(formatter(state, exception));
}

namespace PaymentGateway.Tests.Support;

/// <summary>Keeps what is logged, line by line.</summary>
internal sealed class LogLines<T> : ILogger<T>
{
    private readonly ConcurrentQueue<string> _lines = new();
    private readonly ConcurrentQueue<string> _shown = new();

    public IReadOnlyCollection<string> Lines => _lines;

    /// <summary>Lines at Information or above, the default level.</summary>
    public IReadOnlyCollection<string> Shown => _shown;

    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        var line = formatter(state, exception);
        if (logLevel >= LogLevel.Information)
            _shown.Enqueue(line);
        _lines.Enqueue(line);
    }
}

namespace PaymentGateway.Storage;

/// <summary>
/// The connections for everything but batches, multiplexed when the connection string says so. Safe from any thread.
/// </summary>
/// <param name="pool">Owned from here.</param>
/// <param name="answerWithin">How long a caller waits at most.</param>
/// <param name="clock">Counts that time.</param>
/// <remarks>
/// A multiplexed command does not end at its Command Timeout when the server is frozen, and a loop that waits for ever
/// would not notice that the server is back. So the caller is let go, and the connection stays with the work that it
/// left behind: were it given to another, both would read from one socket.
/// </remarks>
internal sealed class SharedConnections(NpgsqlDataSource pool, TimeSpan answerWithin, TimeProvider clock)
    : IAsyncDisposable
{
    /// <summary>How long a caller waits at most.</summary>
    public TimeSpan AnswerWithin => answerWithin;

    /// <summary>Runs a statement on a connection, which Dapper opens.</summary>
    /// <exception cref="NpgsqlException">The statement's, or there was no connection.</exception>
    /// <exception cref="TimeoutException">No answer; what became of it is unknown.</exception>
    public Task<TResult> RunAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement) =>
        RowReading.RunAsync(() => WorkAsync(statement)).WaitAsync(answerWithin, clock);

    /// <summary>Runs a query, and gives its rows.</summary>
    /// <inheritdoc cref="RunAsync"/>
    public Task<List<TRow>> ListAsync<TRow>(Func<NpgsqlConnection, Task<IEnumerable<TRow>>> query) =>
        RunAsync(async connection => (await query(connection)).AsList());

    public ValueTask DisposeAsync() => pool.DisposeAsync();

    private async Task<TResult> WorkAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> work)
    {
        await using var connection = pool.CreateConnection();
        return await work(connection);
    }
}

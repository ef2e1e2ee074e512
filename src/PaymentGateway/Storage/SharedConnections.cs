namespace PaymentGateway.Storage;

/// <summary>
/// The connections for everything but batches, multiplexed when the connection string says so. Safe from any thread.
/// </summary>
/// <param name="pool">Disposed with this.</param>
/// <param name="answerWithin">How long a caller waits at most.</param>
/// <remarks>
/// A multiplexed command does not end at its Command Timeout when the server is frozen, and a loop that waits for ever
/// would not notice that the server is back. So the caller times out, and the command keeps its connection, because a
/// second user would read from the same socket.
/// </remarks>
internal sealed class SharedConnections(NpgsqlDataSource pool, TimeSpan answerWithin, TimeProvider clock)
    : Db, IAsyncDisposable
{
    private const int LockTries = 5;

    public TimeSpan AnswerWithin => answerWithin;

    /// <summary>Runs a statement on a connection, which Dapper opens.</summary>
    /// <inheritdoc/>
    /// <exception cref="TimeoutException">No answer; the outcome is unknown.</exception>
    public override Task<TResult> RunAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement) =>
        base.RunAsync(statement).WaitAsync(answerWithin, clock);

    /// <summary>Runs a statement that locks tables; tries five times while others use them.</summary>
    /// <inheritdoc cref="RunAsync"/>
    public async Task<TResult> LockAsync<TResult>(
        Func<NpgsqlConnection, Task<TResult>> statement, CancellationToken cancellation = default)
    {
        for (var attempt = 1; ; attempt++)
        {
            cancellation.ThrowIfCancellationRequested();
            try
            {
                return await RunAsync(statement);
            }
            catch (PostgresException busy) when (attempt < LockTries && busy.SqlState
                is PostgresErrorCodes.LockNotAvailable or PostgresErrorCodes.DeadlockDetected)
            {
                // Statements that waited behind it go on, and this one begins again.
            }
        }
    }

    public ValueTask DisposeAsync() => pool.DisposeAsync();

    protected override async Task<TResult> OnConnectionAsync<TResult>(
        Func<NpgsqlConnection, Task<TResult>> statement)
    {
        await using var connection = pool.CreateConnection();
        try
        {
            return await MultiHost.RunAsync(connection, static (db, statement) => statement(db), statement);
        }
        catch (NullReferenceException broken)
        {
            // Npgsql 9.0.3 throws this when a multiplexed connection breaks between the sending of a statement and the
            // reading of its answer: 2 of 3,600 queries just after the server stopped (2026-11-27).
            throw new NpgsqlException("The connection broke.", broken);
        }
        catch (SocketException unresolved)
        {
            // Npgsql 9.0.3 passes it on where the host's name has no address (npgsql issue 5606).
            throw new NpgsqlException(unresolved.Message, unresolved);
        }
    }
}

using System.Data;

namespace PaymentGateway.Storage;

/// <summary>
/// Open connections for batches. The last used one is taken first, because its server process has warm caches; a pool
/// would rotate them. Safe from any thread.
/// </summary>
/// <param name="pool">Plain connections, at least <paramref name="count"/>; disposed with this.</param>
/// <param name="count">How many statements may be in flight; one more waits.</param>
internal sealed class BatchConnections(NpgsqlDataSource pool, int count) : IAsyncDisposable
{
    private readonly SemaphoreSlim _permits = new(count);
    private readonly Stack<NpgsqlConnection> _idle = new(count);

    /// <summary>Runs a statement on an open connection that nothing else uses meanwhile.</summary>
    /// <exception cref="NpgsqlException">The statement failed, or there was no connection.</exception>
    public async Task<TResult> RunAsync<TArgs, TResult>(
        Func<NpgsqlConnection, TArgs, Task<TResult>> statement, TArgs args)
    {
        await _permits.WaitAsync();
        try
        {
            var connection = Take();
            try
            {
                // Opened here, because Dapper closes what it opens.
                if (connection.State != ConnectionState.Open)
                    await connection.OpenAsync();
                return await statement(connection, args);
            }
            finally
            {
                await ReturnAsync(connection);
            }
        }
        finally
        {
            // Always, because a lost permit is lost for the life of the process.
            _permits.Release();
        }
    }

    public async ValueTask DisposeAsync()
    {
        await DropIdleAsync();
        await pool.DisposeAsync();
        _permits.Dispose();
    }

    private NpgsqlConnection Take()
    {
        lock (_idle)
            return _idle.TryPop(out var last) ? last : pool.CreateConnection();
    }

    private async ValueTask ReturnAsync(NpgsqlConnection connection)
    {
        if (connection.State == ConnectionState.Open)
        {
            lock (_idle)
                _idle.Push(connection);
            return;
        }

        // Idle connections have probably broken too, and each would fail its next batch.
        await connection.DisposeAsync();
        await DropIdleAsync();
        pool.Clear();
    }

    private async ValueTask DropIdleAsync()
    {
        NpgsqlConnection[] dropped;
        lock (_idle)
        {
            dropped = [.. _idle];
            _idle.Clear();
        }

        foreach (var connection in dropped)
            await connection.DisposeAsync();
    }
}

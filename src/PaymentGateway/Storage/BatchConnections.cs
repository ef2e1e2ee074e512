using System.Data;

namespace PaymentGateway.Storage;

/// <summary>
/// Open connections for batches. The last used one is taken first, because its server process has warm caches; a pool
/// would rotate them. Safe from any thread.
/// </summary>
/// <param name="pool">Plain connections, at least <paramref name="count"/>; disposed with this.</param>
/// <param name="count">How many statements may be in flight; one more waits.</param>
internal sealed class BatchConnections(NpgsqlDataSource pool, int count, TimeProvider clock) : Db, IAsyncDisposable
{
    private const string PingSql = "SELECT 1";

    // Within StoreTimeout, so that a client gets its answer over another connection.
    private const int PingSeconds = 1;

    // What ends meanwhile costs a batch its answer. What ended in a longer quiet time (the server was restarted, a NAT
    // forgot the connection) must not, because nobody else would see it.
    private static readonly TimeSpan TrustedFor = TimeSpan.FromSeconds(1);

    // Its server process grows, and its host's name may mean another server now.
    private static readonly TimeSpan Lifetime = TimeSpan.FromHours(1);

    private readonly SemaphoreSlim _permits = new(count);
    private readonly Stack<Kept> _idle = new(count);

    /// <summary>Runs a statement without Dapper. It may continue on the sockets' thread.</summary>
    /// <inheritdoc cref="Db.RunAsync"/>
    public async Task<TResult> RunWithoutDapperAsync<TArgs, TResult>(
        Func<NpgsqlConnection, TArgs, Task<TResult>> statement, TArgs args)
    {
        await _permits.WaitAsync();
        try
        {
            var taken = await TakeAsync();
            try
            {
                await OpenAsync(taken.Connection);
                return await MultiHost.RunAsync(taken.Connection, statement, args);
            }
            finally
            {
                await ReturnAsync(taken);
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

    protected override Task<TResult> OnConnectionAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement) =>
        RunWithoutDapperAsync(static (db, statement) => statement(db), statement);

    private async ValueTask<Kept> TakeAsync()
    {
        Kept last;
        bool isKept;
        lock (_idle)
            isKept = _idle.TryPop(out last);
        if (isKept && (clock.GetElapsedTime(last.UsedAt) <= TrustedFor || await AnswersAsync(last.Connection)))
            return last;

        if (isKept)
            await DropAsync(last.Connection);
        return new Kept(pool.CreateConnection(), clock.GetTimestamp(), UsedAt: 0);
    }

    // Opened here, because Dapper closes what it opens.
    private static async Task OpenAsync(NpgsqlConnection connection)
    {
        try
        {
            if (connection.State != ConnectionState.Open)
                await connection.OpenAsync();
        }
        catch (Exception failed)
        {
            throw new NotSentException(failed);
        }
    }

    private static async Task<bool> AnswersAsync(NpgsqlConnection connection)
    {
        try
        {
            await using var ping = new NpgsqlCommand(PingSql, connection) { CommandTimeout = PingSeconds };
            await ping.ExecuteNonQueryAsync();
            return true;
        }
        catch (Exception)
        {
            // Npgsql also throws others when a connection breaks, and a lost connection is lost for the process.
            return false;
        }
    }

    private async ValueTask ReturnAsync(Kept taken)
    {
        if (taken.Connection.State != ConnectionState.Open)
            await DropAsync(taken.Connection);
        else if (clock.GetElapsedTime(taken.OpenedAt) > Lifetime)
            await taken.Connection.DisposeAsync();
        else
            lock (_idle)
                _idle.Push(taken with { UsedAt = clock.GetTimestamp() });
    }

    // Idle connections have probably broken too, and each would fail its next batch.
    private async ValueTask DropAsync(NpgsqlConnection broken)
    {
        await broken.DisposeAsync();
        await DropIdleAsync();
        pool.Clear();
    }

    private async ValueTask DropIdleAsync()
    {
        Kept[] dropped;
        lock (_idle)
        {
            dropped = [.. _idle];
            _idle.Clear();
        }

        foreach (var kept in dropped)
            await kept.Connection.DisposeAsync();
    }

    /// <summary>A connection with monotonic timestamps of its start and its last statement's end.</summary>
    private readonly record struct Kept(NpgsqlConnection Connection, long OpenedAt, long UsedAt);
}

/// <summary>No connection could be opened, so the statement was surely not sent.</summary>
internal sealed class NotSentException(Exception cause) : NpgsqlException(cause.Message, cause);

using System.Data;
using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>
/// The connections for batches. The first free one is taken, so that light load stays with one server process, which
/// has what it needs at hand; one pool would have all of them take turns. Safe from any thread.
/// </summary>
internal sealed class BatchConnections : IAsyncDisposable
{
    private readonly NpgsqlDataSource[] pools;
    private readonly bool[] taken;

    /// <param name="count">How many statements may be under way; one more waits, as in any pool.</param>
    /// <param name="openPool">Makes a pool of one connection.</param>
    public BatchConnections(int count, Func<NpgsqlDataSource> openPool)
    {
        pools = Enumerable.Range(0, count).Select(_ => openPool()).ToArray();
        taken = new bool[count];
    }

    /// <summary>Runs a statement on a connection of its own.</summary>
    /// <exception cref="NpgsqlException">The statement's, or there was no connection.</exception>
    public async Task<TResult> RunAsync<TArgs, TResult>(
        Func<NpgsqlConnection, TArgs, Task<TResult>> statement, TArgs args)
    {
        var place = Take();
        try
        {
            await using var connection = pools[place].CreateConnection();
            try
            {
                return await statement(connection, args);
            }
            catch when (connection.State != ConnectionState.Open)
            {
                // What broke this one has probably broken those that are idle, and each would cost its next batch.
                foreach (var pool in pools)
                    pool.Clear();
                throw;
            }
        }
        finally
        {
            Volatile.Write(ref taken[place], false);
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var pool in pools)
            await pool.DisposeAsync();
    }

    private int Take()
    {
        lock (pools)
        {
            // When there is none, the first one's pool has it wait.
            var place = Math.Max(Array.IndexOf(taken, false), 0);
            taken[place] = true;
            return place;
        }
    }
}

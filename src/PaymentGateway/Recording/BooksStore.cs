using System.Data.Common;
using Dapper;

namespace PaymentGateway.Recording;

/// <summary>Which books these are: purged on purpose, or reset by a crash of the database.</summary>
internal sealed class BooksStore(SharedConnections connections)
{
    private const string StateSql = """
        SELECT generation, resets, reset_at, EXISTS (SELECT 1 FROM books_intact) AS intact
        FROM books WHERE id = 1
        """;

    // Of several instances that find the row missing, one counts the reset.
    private const string MarkResetSql = """
        WITH marked AS (INSERT INTO books_intact (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING id)
        UPDATE books SET resets = resets + 1, reset_at = now() WHERE id = 1 AND EXISTS (SELECT 1 FROM marked)
        """;

    // The order in which every statement that touches several of them takes its locks.
    private const string LockSql = "LOCK TABLE payments, settlements, settlement_totals IN ACCESS EXCLUSIVE MODE";

    private const string TruncateSql = "TRUNCATE payments, settlements, settlement_totals";

    private const string NextGenerationSql =
        "UPDATE books SET generation = generation + 1, reset_at = NULL WHERE id = 1";

    public Task<BooksRow> StateAsync() =>
        connections.RunAsync(connection => connection.QuerySingleAsync<BooksRow>(
            StateSql, commandTimeout: connection.CommandTimeout));

    /// <summary>Writes down that the database lost the books.</summary>
    public Task MarkResetAsync() =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            MarkResetSql, commandTimeout: connection.CommandTimeout));

    /// <summary>Empties the books and begins new ones.</summary>
    /// <exception cref="DbException">The ledger is as before, or nobody knows; repeat.</exception>
    /// <exception cref="TimeoutException">The same.</exception>
    public Task PurgeAsync() => connections.RunAsync(
        async (connection, letGo) =>
        {
            await connection.OpenAsync(letGo);
            await using var transaction = await connection.BeginTransactionAsync(letGo);
            await connection.ExecuteAsync(LockSql, null, transaction, connection.CommandTimeout);
            // A purge that nobody waits for any more must not empty what was acknowledged meanwhile.
            letGo.ThrowIfCancellationRequested();
            await connection.ExecuteAsync(TruncateSql, null, transaction, connection.CommandTimeout);
            var purged = await connection.ExecuteAsync(
                NextGenerationSql, null, transaction, connection.CommandTimeout);
            letGo.ThrowIfCancellationRequested();
            await transaction.CommitAsync(CancellationToken.None);
            return purged;
        });
}

/// <summary>The books' state; Intact is false once after each crash that emptied them.</summary>
internal sealed record BooksRow(int Generation, int Resets, DateTime? ResetAt, bool Intact);

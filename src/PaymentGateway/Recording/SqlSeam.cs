using System.Data;
using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>
/// Dapper's calls on typed Npgsql commands. -p:UseDapperAot=true leaves this file out and takes the packages
/// instead (docs/decisions.md, 2), so names and arguments are Dapper's. Safe from any thread.
/// </summary>
internal static class SqlSeam
{
    /// <summary>Runs a statement and gives the number of rows that it changed.</summary>
    public static async Task<int> ExecuteAsync(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
    {
        await OpenAsync(connection);
        await using var command = Command(connection, sql, args, transaction);
        return await command.ExecuteNonQueryAsync();
    }

    /// <summary>Runs a query and gives all its rows.</summary>
    public static async Task<IEnumerable<TRow>> QueryAsync<TRow>(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
        where TRow : ISqlRow<TRow>
    {
        await OpenAsync(connection);
        await using var command = Command(connection, sql, args, transaction);
        await using var reader = await command.ExecuteReaderAsync();
        var rows = new List<TRow>();
        while (await reader.ReadAsync())
            rows.Add(TRow.Read(reader));
        return rows;
    }

    /// <summary>The rows of a query as the list that they are.</summary>
    public static List<TRow> AsList<TRow>(this IEnumerable<TRow> rows) => rows as List<TRow> ?? rows.ToList();

    /// <summary>Runs a query that gives exactly one row.</summary>
    /// <exception cref="InvalidOperationException">There was no row, or more than one.</exception>
    public static async Task<TRow> QuerySingleAsync<TRow>(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
        where TRow : ISqlRow<TRow> =>
        (await connection.QueryAsync<TRow>(sql, args, transaction)).Single();

    private static Task OpenAsync(NpgsqlConnection connection) =>
        connection.State == ConnectionState.Closed ? connection.OpenAsync() : Task.CompletedTask;

    private static NpgsqlCommand Command(
        NpgsqlConnection connection, string sql, ISqlArgs? args, NpgsqlTransaction? transaction)
    {
        var command = new NpgsqlCommand(sql, connection, transaction);
        args?.AddTo(command.Parameters);
        return command;
    }
}

using System.Collections.Concurrent;
using System.Data;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>
/// Dapper's calls on typed Npgsql commands. -p:UseDapperAot=true leaves this file out and takes the packages
/// instead (docs/decisions.md, 2), so names and arguments are Dapper's. Safe from any thread.
/// </summary>
internal static partial class SqlSeam
{
    // Named parameters make Npgsql parse and rewrite the text for each command; it is done once here. The statements
    // are constants, so their reference is the key.
    private static readonly ConcurrentDictionary<object, string> Numbered = new(ReferenceEqualityComparer.Instance);

    // Plain connections stay with their owner, and their commands with them.
    private static readonly ConditionalWeakTable<NpgsqlConnection, KeptCommands> Kept = [];

    /// <summary>Runs a statement and gives the number of rows that it changed.</summary>
    /// <exception cref="TimeoutException">No answer; what became of it is unknown.</exception>
    public static Task<int> ExecuteAsync(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
    {
        return BoundAsync(connection, RunAsync());

        async Task<int> RunAsync()
        {
            var command = await CommandAsync(connection, sql, args, transaction);
            return await command.ExecuteNonQueryAsync();
        }
    }

    /// <summary>Runs a query and gives all its rows.</summary>
    /// <exception cref="TimeoutException">No answer.</exception>
    public static Task<IEnumerable<TRow>> QueryAsync<TRow>(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
        where TRow : ISqlRow<TRow>
    {
        return BoundAsync(connection, RunAsync());

        async Task<IEnumerable<TRow>> RunAsync()
        {
            var command = await CommandAsync(connection, sql, args, transaction);
            await using var reader = await command.ExecuteReaderAsync();
            var rows = new List<TRow>();
            while (await reader.ReadAsync())
                rows.Add(TRow.Read(reader));
            return rows;
        }
    }

    /// <summary>The rows of a query as the list that they are.</summary>
    public static List<TRow> AsList<TRow>(this IEnumerable<TRow> rows) => rows as List<TRow> ?? rows.ToList();

    /// <summary>Runs a query that gives exactly one row.</summary>
    /// <exception cref="InvalidOperationException">There was no row, or more than one.</exception>
    public static async Task<TRow> QuerySingleAsync<TRow>(
        this NpgsqlConnection connection, string sql, ISqlArgs? args = null, NpgsqlTransaction? transaction = null)
        where TRow : ISqlRow<TRow> =>
        (await connection.QueryAsync<TRow>(sql, args, transaction)).Single();

    // Multiplexed commands do not end at their Command Timeout (seen with a server that was stopped by SIGSTOP), and a
    // loop that waits for ever would not notice that the server is back. A plain connection keeps its own limit: were
    // it disposed while its command still reads, both would read from one socket, and one of them for ever.
    private static Task<T> BoundAsync<T>(NpgsqlConnection connection, Task<T> running) =>
        running.IsCompleted || !IsMultiplexed(connection)
            ? running
            : running.WaitAsync(TimeSpan.FromSeconds(connection.CommandTimeout + 1), TimeProvider.System);

    private static bool IsMultiplexed(NpgsqlConnection connection) =>
        connection.ConnectionString.Contains("Multiplexing=True", StringComparison.Ordinal);

    // A kept command needs nothing but new values.
    private static ValueTask<NpgsqlCommand> CommandAsync(
        NpgsqlConnection connection, string sql, ISqlArgs? args, NpgsqlTransaction? transaction)
    {
        if (connection.State != ConnectionState.Open || !Kept.TryGetValue(connection, out var kept)
            || !kept.TryGetValue(sql, out var command) || !command.IsPrepared)
            return MakeAsync(connection, sql, args, transaction);

        args?.AddTo(new SqlParameters(command.Parameters));
        return new ValueTask<NpgsqlCommand>(command);
    }

    // Commands hold nothing that needs to be disposed of: what is prepared is the connection's.
    private static async ValueTask<NpgsqlCommand> MakeAsync(
        NpgsqlConnection connection, string sql, ISqlArgs? args, NpgsqlTransaction? transaction)
    {
        if (connection.State == ConnectionState.Closed)
            await connection.OpenAsync();
        var command = Command(connection, sql, args, transaction);
        if (transaction is null && !IsMultiplexed(connection))
        {
            await command.PrepareAsync();
            Kept.GetValue(connection, static _ => new KeptCommands())[sql] = command;
        }

        return command;
    }

    private static NpgsqlCommand Command(
        NpgsqlConnection connection, string sql, ISqlArgs? args, NpgsqlTransaction? transaction)
    {
        var command = new NpgsqlCommand(sql, connection, transaction);
        if (args is null)
            return command;

        args.AddTo(new SqlParameters(command.Parameters));
        if (!Numbered.TryGetValue(sql, out var numbered))
            Numbered[sql] = numbered = Number(sql, command.Parameters);
        command.CommandText = numbered;
        foreach (NpgsqlParameter parameter in command.Parameters)
            parameter.ParameterName = "";
        return command;
    }

    private static string Number(string sql, NpgsqlParameterCollection parameters) =>
        Name().Replace(sql, name => $"${parameters.IndexOf(name.Groups[1].Value) + 1}");

    [GeneratedRegex("@([A-Za-z]+)")]
    private static partial Regex Name();

    /// <summary>The commands of one connection by their statements.</summary>
    private sealed class KeptCommands() : Dictionary<object, NpgsqlCommand>(ReferenceEqualityComparer.Instance);
}

namespace PaymentGateway.Tests.Support;

/// <summary>Statements of tests, past the gateway.</summary>
internal static class Statements
{
    /// <summary>A connection that no pool keeps: when it is disposed, the server ends its transaction.</summary>
    public static async Task<NpgsqlConnection> OpenAsync(string connectionString)
    {
        var connection = new NpgsqlConnection(
            new NpgsqlConnectionStringBuilder(connectionString) { Multiplexing = false, Pooling = false }
                .ConnectionString);
        try
        {
            await connection.OpenAsync();
            return connection;
        }
        catch
        {
            await connection.DisposeAsync();
            throw;
        }
    }

    /// <summary>Begins a transaction; its locks are held until it ends or the connection is disposed.</summary>
    public static async Task<NpgsqlConnection> HoldAsync(string connectionString, string sql)
    {
        var connection = await OpenAsync(connectionString);
        await connection.ExecuteAsync($"BEGIN; {sql}");
        return connection;
    }

    public static async Task<int> ExecuteAsync(
        this NpgsqlConnection connection, string sql, params (string Name, object Value)[] arguments)
    {
        await using var command = Command(connection, sql, arguments);
        return await command.ExecuteNonQueryAsync();
    }

    public static async Task<T> ScalarAsync<T>(this NpgsqlConnection connection, string sql)
    {
        await using var command = new NpgsqlCommand(sql, connection);
        return (T)(await command.ExecuteScalarAsync())!;
    }

    public static async Task<List<T>> ReadAsync<T>(
        this NpgsqlConnection connection, string sql, Func<NpgsqlDataReader, T> read,
        params (string Name, object Value)[] arguments)
    {
        await using var command = Command(connection, sql, arguments);
        await using var reader = await command.ExecuteReaderAsync();
        var rows = new List<T>();
        while (await reader.ReadAsync())
            rows.Add(read(reader));
        return rows;
    }

    private static NpgsqlCommand Command(
        NpgsqlConnection connection, string sql, (string Name, object Value)[] arguments)
    {
        var command = new NpgsqlCommand(sql, connection);
        foreach (var (name, value) in arguments)
            command.Parameters.AddWithValue(name, value);
        return command;
    }
}

using Npgsql;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

/// <summary>What the rig reads in PostgreSQL while that is being broken: every question has a limit.</summary>
public sealed class ChaosDatabase(GatewaySystem system)
{
    private const int LimitSeconds = 2;

    private readonly string plain = new NpgsqlConnectionStringBuilder(
        system.ChildSettings(GatewaySystem.First)["ConnectionStrings__Ledger"])
    {
        Multiplexing = false,
        Pooling = false,
        ApplicationName = "tests",
        Timeout = LimitSeconds,
        CommandTimeout = LimitSeconds,
    }.ConnectionString;

    /// <summary>When the oldest payment without a settlement was accepted; null when there is none.</summary>
    public async Task<DateTime?> OldestOpenAsync()
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            "SELECT min(accepted_at) FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
            + "WHERE requested_at IS NULL", connection);
        return await command.ExecuteScalarAsync() as DateTime?;
    }

    /// <summary>The processes that serve the gateway's connections, by their ids.</summary>
    public async Task<List<int>> GatewayBackendsAsync()
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            "SELECT pid FROM pg_stat_activity WHERE usename = current_user AND backend_type = 'client backend' "
            + "AND application_name <> 'tests' ORDER BY pid", connection);
        await using var reader = await command.ExecuteReaderAsync();
        var backends = new List<int>();
        while (await reader.ReadAsync())
            backends.Add(reader.GetInt32(0));
        return backends;
    }

    private async Task<NpgsqlConnection> OpenAsync()
    {
        var connection = new NpgsqlConnection(plain);
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
}

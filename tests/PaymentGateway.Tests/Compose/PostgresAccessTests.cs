namespace PaymentGateway.Tests.Compose;

/// <summary>postgres/gateway.sql and postgres/pg_hba.conf, as the compose files give them to PostgreSQL.</summary>
public sealed class PostgresAccessTests
{
    [PostgresFact]
    public async Task Containers_that_reach_the_socket_or_a_port_log_in_as_the_gateway_alone_which_owns_one_database()
    {
        // Compose's server has no port. Here it has one, on an address of this process alone.
        var port = $"127.2.{Environment.ProcessId >> 8 & 255}.{Environment.ProcessId & 255}";
        await using var server = await PostgresServer.StartAsync(listen: port);
        // One by one, as psql sends them: a database cannot be made in a transaction.
        foreach (var statement in (await File.ReadAllTextAsync(Repository.PathOf("postgres", "gateway.sql")))
            .Split(";\n", StringSplitOptions.RemoveEmptyEntries))
            await server.ExecuteAsync(statement);
        // Written over, the file stays the server's.
        await File.WriteAllTextAsync(
            Path.Combine(server.Directory, "data", "pg_hba.conf"),
            await File.ReadAllTextAsync(Repository.PathOf("postgres", "pg_hba.conf")));
        await server.ExecuteAsync("SELECT pg_reload_conf()");

        await Eventually.HoldsAsync(
            async () => !await LogsInAsync(server.Directory, "postgres", "postgres"), "the server has read the file");
        Assert.False(await LogsInAsync(server.Directory, "postgres", "gateway"));
        Assert.False(await LogsInAsync(server.Directory, "gateway", "postgres"));
        Assert.False(await LogsInAsync(port, "postgres", "postgres"));
        Assert.False(await LogsInAsync(port, "gateway", "gateway"));
        await using var gateway = await Statements.OpenAsync(
            $"Host={server.Directory};Username=gateway;Database=gateway");
        await gateway.ExecuteAsync("CREATE UNLOGGED TABLE proof (id integer)");
        Assert.False(await gateway.ScalarAsync<bool>(
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user"));
    }

    private static async Task<bool> LogsInAsync(string host, string user, string database)
    {
        try
        {
            await using var connection = await Statements.OpenAsync(
                $"Host={host};Username={user};Database={database}");
            return true;
        }
        catch (PostgresException refused)
            when (refused.SqlState == PostgresErrorCodes.InvalidAuthorizationSpecification)
        {
            return false;
        }
    }
}

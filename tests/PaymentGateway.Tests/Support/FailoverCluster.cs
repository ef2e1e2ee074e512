namespace PaymentGateway.Tests.Support;

/// <summary>A ledger on two PostgreSQL nodes with a monitor; the network of each node can be cut.</summary>
public sealed class FailoverCluster : IAsyncDisposable
{
    private readonly ServerScript _script;
    private readonly string _clients;
    private readonly string _monitorPort;

    private FailoverCluster(ServerScript script, string clients, string monitorPort)
    {
        _script = script;
        _clients = clients;
        _monitorPort = monitorPort;
    }

    public static string? SkipReason { get; } = GatewaySystemParts.SkipReason
        ?? (!Environment.IsPrivilegedProcess ? "lacks root: only root may make networks to cut"
            : Programs.Has("pg_autoctl") && File.Exists($"{PostgresServer.Binaries}/../lib/pgautofailover.so") ? null
            : "lacks failover: eng/setup failover brings it");

    public string ConnectionString =>
        $"Host={_clients}.11:5001,{_clients}.12:5002;Username=gateway;Database=gateway;"
        + "Target Session Attributes=read-write;Timeout=1";

    public static async Task<FailoverCluster> UpAsync()
    {
        var number = Environment.ProcessId % 250;
        var clients = $"10.230.{number}";
        var monitorPort = GatewaySystemSettings.FreePort();
        var script = await ServerScript.StartAsync(
            ServerScript.PathOf("failover-cluster"), PostgresServer.Binaries!, $"10.231.{number}", clients,
            monitorPort, $"pgha{Environment.ProcessId % 100_000}");
        return new FailoverCluster(script, clients, monitorPort);
    }

    public static int Other(int node) => 3 - node;

    /// <summary>The node that takes writes, as the nodes say themselves; 1 or 2.</summary>
    public async Task<int> PrimaryAsync()
    {
        foreach (var node in (int[])[1, 2])
            if (!await ScalarAsync<bool>(node, "SELECT pg_is_in_recovery()"))
                return node;
        throw new InvalidOperationException("no node takes writes");
    }

    /// <summary>Returns when one node is primary and the other one its synchronous standby.</summary>
    public Task SteadyAsync() => _script.OrderAsync("steady");

    /// <summary>From now on by the times of ops/failover-times.sql.</summary>
    public Task HurryAsync() => _script.OrderAsync("hurry");

    public Task SwitchoverAsync() => _script.OrderAsync("switchover");

    public Task KillPostmasterAsync(int node) => _script.OrderAsync($"kill-postmaster {node}");

    /// <summary>kill -9 of PostgreSQL and its keeper at once.</summary>
    public Task KillNodeAsync(int node) => _script.OrderAsync($"kill-node {node}");

    /// <summary>
    /// A node whose standby is cut off: kill -9 of the postmaster, once it has committed outcomes, and of the whole
    /// node, once it is back and instances have seen them. The standby is back then.
    /// </summary>
    public Task KillAheadAsync(int node) => _script.OrderAsync($"kill-ahead {node}");

    public Task StartNodeAsync(int node) => _script.OrderAsync($"start-node {node}");

    /// <summary>The node lives on, and its packets go nowhere.</summary>
    public Task CutAsync(int node) => _script.OrderAsync($"cut {node}");

    public Task HealAsync(int node) => _script.OrderAsync($"heal {node}");

    /// <summary>Clients reach the node no more; the monitor and the other node do.</summary>
    public Task CutClientsAsync(int node) => _script.OrderAsync($"cut-clients {node}");

    public Task HealClientsAsync(int node) => _script.OrderAsync($"heal-clients {node}");

    /// <summary>A write past the network, as a client beside a node has it; waits as long as the node does.</summary>
    public async Task WriteAsync(int node, Guid id)
    {
        await using var connection = await OpenAsync(node);
        await connection.ExecuteAsync(
            "INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at) "
            + $"VALUES ('{id}', 1, now(), 0, 0)");
    }

    /// <summary>Outcomes wait at this node, on open connections, until the lock is disposed.</summary>
    public async Task<IAsyncDisposable> LockSettlementsAsync(int node)
    {
        var connection = await OpenAsync(node);
        await connection.ExecuteAsync("BEGIN; LOCK TABLE settlements IN SHARE ROW EXCLUSIVE MODE");
        return connection;
    }

    public async Task<T> ScalarAsync<T>(int node, string sql)
    {
        await using var connection = await OpenAsync(node);
        return await connection.ScalarAsync<T>(sql);
    }

    /// <summary>The last state changes that the monitor noted, a line each.</summary>
    public async Task<string> EventsAsync()
    {
        await using var connection = await OpenAsync(_monitorPort, "pg_auto_failover");
        return await connection.ScalarAsync<string>(
            "SELECT string_agg(concat_ws(' ', eventtime, nodename, reportedstate, goalstate, description), E'\\n' "
            + "ORDER BY eventid) FROM (SELECT * FROM pgautofailover.event ORDER BY eventid DESC LIMIT 40) AS last");
    }

    public ValueTask DisposeAsync() => _script.DisposeAsync();

    private Task<NpgsqlConnection> OpenAsync(int node) => OpenAsync($"500{node}", "gateway");

    private Task<NpgsqlConnection> OpenAsync(string port, string database) => Statements.OpenAsync(
        $"Host={_script.Directory};Port={port};Username=postgres;Database={database};Command Timeout=0");
}

public sealed class FailoverFactAttribute() : NeedsFactAttribute(WholeSystem, FailoverCluster.SkipReason);

using System.Globalization;
using Npgsql;
using PaymentGateway.Storage;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tests.Support;

/// <summary>The times in the life of a settled payment.</summary>
public sealed record SettledAt(int Owner, DateTime AcceptedAt, DateTime RequestedAt);

/// <summary>PostgreSQL of a whole system: read behind the gateway's back, frozen, thawed and killed.</summary>
public sealed class GatewaySystemDatabase(string connectionString, Func<int> postmaster)
{
    private readonly string _plain = new NpgsqlConnectionStringBuilder(connectionString)
    {
        Multiplexing = false,
        Pooling = false,
        ApplicationName = "tests",
    }.ConnectionString;

    private IReadOnlyList<int> _frozen = [];

    public async Task<Dictionary<Guid, LedgerEntry>> SettlementsAsync()
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            "SELECT correlation_id, processor, amount_cents, requested_at FROM settlements", connection);
        await using var reader = await command.ExecuteReaderAsync();
        var settlements = new Dictionary<Guid, LedgerEntry>();
        while (await reader.ReadAsync())
        {
            var entry = new LedgerEntry(reader.GetInt16(1), reader.GetInt64(2) / 100m, reader.GetDateTime(3));
            settlements.Add(reader.GetGuid(0), entry);
        }

        return settlements;
    }

    /// <summary>Accepted payments that are not in the ledger yet and do not wait for an operator.</summary>
    public Task<long> CountUnsettledAsync() => CountAsync(
        "payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + $"WHERE requested_at IS NULL AND owner_epoch <> {PaymentStates.Sql.Parked}");

    /// <summary>Those among them that an epoch has.</summary>
    public Task<long> CountUnsettledAsync(long epoch) => CountAsync(
        "payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + $"WHERE requested_at IS NULL AND owner_epoch = {epoch}");

    /// <summary>Per owner: when its payments were accepted and, last, sent; in the order of sending.</summary>
    public async Task<List<SettledAt>> SettledInOrderAsync()
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            "SELECT owner_epoch, accepted_at, requested_at "
            + "FROM payments JOIN settlements USING (accepted_at, correlation_id) "
            + "ORDER BY owner_epoch, requested_at, accepted_at", connection);
        await using var reader = await command.ExecuteReaderAsync();
        var settled = new List<SettledAt>();
        while (await reader.ReadAsync())
            settled.Add(new SettledAt(reader.GetInt32(0), reader.GetDateTime(1), reader.GetDateTime(2)));
        return settled;
    }

    /// <summary>Changes what no client could.</summary>
    public async Task ExecuteAsync(string sql)
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(sql, connection);
        await command.ExecuteNonQueryAsync();
    }

    /// <param name="rows">What follows SELECT count(*) FROM.</param>
    public Task<long> CountAsync(string rows) => NumberAsync($"SELECT count(*) FROM {rows}");

    /// <summary>What a query gives that has one number in one row.</summary>
    public async Task<long> NumberAsync(string sql)
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(sql, connection);
        return Convert.ToInt64(await command.ExecuteScalarAsync(), CultureInfo.InvariantCulture);
    }

    /// <summary>
    /// Waits until an instance, by the epoch that it has now, has accepted more than before: it carries the load.
    /// </summary>
    public async Task CarriesLoadAsync(string part)
    {
        const int More = 20;
        var (epoch, before) = await OwnedByAsync(part);
        await Eventually.HoldsAsync(
            async () =>
            {
                var (now, count) = await OwnedByAsync(part);
                // It has a new epoch after a jump of the clock, say: what the old one had does not count for it.
                if (now != epoch)
                    (epoch, before) = (now, count);
                return count >= before + More;
            },
            $"{part} carries the load");
    }

    private async Task<(int Epoch, long Payments)> OwnedByAsync(string part)
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            $"""
            SELECT newest, (SELECT count(*) FROM payments WHERE owner_epoch = newest)
            FROM (SELECT max(epoch) AS newest FROM leases WHERE instance LIKE '%/{part}.sock@%') AS lease
            """, connection);
        await using var reader = await command.ExecuteReaderAsync();
        await reader.ReadAsync();
        return (reader.GetInt32(0), reader.GetInt64(1));
    }

    /// <summary>A lock that purges wait for and nothing else does, until what is given is disposed.</summary>
    public Task<IAsyncDisposable> LockPaymentsAsync() => LockAsync("LOCK TABLE payments IN ROW EXCLUSIVE MODE");

    /// <summary>What a statement locks, until what is given is disposed.</summary>
    public async Task<IAsyncDisposable> LockAsync(string sql)
    {
        var connection = await OpenAsync();
        await using var command = new NpgsqlCommand($"BEGIN; {sql}", connection);
        await command.ExecuteNonQueryAsync();
        return connection;
    }

    /// <summary>The server processes that serve the gateway, and which of them renew leases.</summary>
    public async Task<(HashSet<int> All, HashSet<int> Renewing)> ServerProcessesAsync()
    {
        await using var connection = await OpenAsync();
        await using var command = new NpgsqlCommand(
            """
            SELECT array_agg(pid), coalesce(array_agg(pid) FILTER (WHERE query LIKE 'WITH renewed AS%'), '{}')
            FROM pg_stat_activity WHERE application_name = 'payment-gateway'
            """, connection);
        await using var reader = await command.ExecuteReaderAsync();
        await reader.ReadAsync();
        return ([.. reader.GetFieldValue<int[]>(0)], [.. reader.GetFieldValue<int[]>(1)]);
    }

    /// <summary>Stops every process of this server where it stands: it takes connections and never answers.</summary>
    public void Freeze()
    {
        _frozen = ProcessTree.Of(postmaster());
        foreach (var pid in _frozen)
            Posix.Send(pid, Signal.Stop);
    }

    public void Thaw()
    {
        foreach (var pid in _frozen)
            Posix.Send(pid, Signal.Continue);
        _frozen = [];
    }

    /// <summary>What kill -9 of all its processes at once leaves: no checkpoint, no goodbye.</summary>
    public async Task CrashAsync()
    {
        // It forks no more from here on: a server process that is not on the list would live on.
        Posix.Send(postmaster(), Signal.Stop);
        var processes = ProcessTree.Of(postmaster());
        foreach (var pid in processes)
            Posix.Send(pid, Signal.Kill);
        await Eventually.HoldsAsync(
            () => processes.All(pid => ProcessStatus.ReadLiving(pid) is null),
            "every process of PostgreSQL has terminated");
    }

    private async Task<NpgsqlConnection> OpenAsync()
    {
        var connection = new NpgsqlConnection(_plain);
        await connection.OpenAsync();
        return connection;
    }
}

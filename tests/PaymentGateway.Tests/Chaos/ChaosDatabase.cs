using System.Data.Common;

namespace PaymentGateway.Tests.Chaos;

/// <param name="Instance">The owner's identity, which contains the path of its socket.</param>
/// <param name="Taken">Payments that it accepted of late.</param>
public sealed record ChaosEpoch(int Epoch, string Instance, long Taken)
{
    public bool IsOf(string part) => Instance.Contains($"/{part}.sock", StringComparison.Ordinal);
}

/// <summary>Queries of the rig while PostgreSQL is being broken: each has a limit.</summary>
public sealed class ChaosDatabase(GatewaySystem system)
{
    private const string Unsettled =
        "FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) WHERE requested_at IS NULL";

    private readonly string _plain =
        $"{system.ConnectionString};Application Name=tests;Timeout=2;Command Timeout=2";

    /// <summary>Null (or zero) while the database is being broken.</summary>
    public static async Task<T?> TryAsync<T>(Func<Task<T>> askAsync)
    {
        try
        {
            return await askAsync();
        }
        catch (Exception unavailable) when (
            unavailable is DbException or TimeoutException or OperationCanceledException)
        {
            return default;
        }
    }

    public async Task<DateTime?> OldestUnsettledAsync() => (await ReadAsync<DateTime?>(
        $"SELECT min(accepted_at) {Unsettled}", row => row.IsDBNull(0) ? null : row.GetDateTime(0)))[0];

    public Task<List<ChaosEpoch>> EpochsAsync(DateTime since) => ReadAsync(
        "SELECT epoch, instance, "
        + "(SELECT count(*) FROM payments WHERE owner_epoch = epoch AND accepted_at > @since) "
        + "FROM leases WHERE closed_at IS NULL AND epoch <> 0 ORDER BY epoch",
        row => new ChaosEpoch(row.GetInt32(0), row.GetString(1), row.GetInt64(2)), ("since", since));

    public async Task<long> CountUnsettledOfAsync(int epoch) => (await ReadAsync(
        $"SELECT count(*) {Unsettled} AND owner_epoch = @epoch", row => row.GetInt64(0), ("epoch", epoch)))[0];

    public Task<List<string>> DescribeUnsettledAsync() => ReadAsync(
        "SELECT concat_ws(' ', correlation_id, accepted_at, payment_state(owner_epoch, may_be_at), owner_epoch, "
        + "'may be at', may_be_at, parked_reason, 'lease', instance, 'low-water mark', low_water_mark, "
        + "'closed', closed_at, 'adopted', adopted_at) "
        + "FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + "LEFT JOIN leases ON owner_epoch = epoch WHERE requested_at IS NULL ORDER BY accepted_at LIMIT 20",
        row => row.GetString(0));

    public async Task<Dictionary<int, DateTime>> RenewalsAsync() => (await ReadAsync(
        "SELECT epoch, expires_at FROM leases WHERE closed_at IS NULL AND epoch <> 0",
        row => (Epoch: row.GetInt32(0), At: row.GetDateTime(1)))).ToDictionary(row => row.Epoch, row => row.At);

    public async Task<long> CountSettledAsync(DateTimeOffset from, DateTimeOffset to) => (await ReadAsync(
        "SELECT count(*) FROM settlements WHERE requested_at BETWEEN @from AND @to",
        row => row.GetInt64(0), ("from", from.UtcDateTime), ("to", to.UtcDateTime)))[0];

    /// <summary>Ends whatever runs a statement of the gateway just now.</summary>
    public async Task<int> TerminateActiveAsync() => (await ReadAsync(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND state = 'active' "
        + "AND backend_type = 'client backend' AND application_name <> 'tests'", row => row.GetBoolean(0)))
        .Count(ended => ended);

    public Task<List<int>> GatewayBackendsAsync() => ReadAsync(
        "SELECT pid FROM pg_stat_activity WHERE usename = current_user AND backend_type = 'client backend' "
        + "AND application_name <> 'tests' ORDER BY pid", row => row.GetInt32(0));

    private async Task<List<T>> ReadAsync<T>(
        string sql, Func<NpgsqlDataReader, T> read, params (string Name, object Value)[] arguments)
    {
        await using var connection = await Statements.OpenAsync(_plain);
        return await connection.ReadAsync(sql, read, arguments);
    }
}

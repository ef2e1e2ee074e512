namespace PaymentGateway.Tests.Chaos;

/// <summary>An epoch that is not closed.</summary>
/// <param name="Instance">Its identity, with the path of its socket in it.</param>
/// <param name="Taken">Payments that it accepted of late.</param>
/// <param name="Open">Payments of it that are not settled.</param>
public sealed record ChaosEpoch(int Epoch, string Instance, DateTime ExpiresAt, long Taken, long Open)
{
    public bool IsOf(string part) => Instance.Contains($"/{part}.sock", StringComparison.Ordinal);
}

/// <summary>Whose a payment is, and whether it had another owner before.</summary>
public sealed record ChaosOwner(string Instance, bool ChangedHands)
{
    public bool Is(string part) => Instance.Contains($"/{part}.sock", StringComparison.Ordinal);
}

/// <summary>What the rig reads in PostgreSQL while that is being broken: every question has a limit.</summary>
public sealed class ChaosDatabase(GatewaySystem system)
{
    private readonly string _plain =
        $"{system.ConnectionString};Application Name=tests;Timeout=2;Command Timeout=2";

    /// <summary>When the oldest payment without a settlement was accepted; null when there is none.</summary>
    public async Task<DateTime?> OldestUnsettledAsync() => (await ReadAsync<DateTime?>(
        "SELECT min(accepted_at) FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + "WHERE requested_at IS NULL", row => row.IsDBNull(0) ? null : row.GetDateTime(0)))[0];

    /// <summary>The epochs that are not closed: how many payments each took since then, and has open.</summary>
    public Task<List<ChaosEpoch>> EpochsAsync(DateTime since) => ReadAsync(
        "SELECT epoch, instance, expires_at, "
        + "(SELECT count(*) FROM payments WHERE owner_epoch = epoch AND accepted_at > @since), "
        + "(SELECT count(*) FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + "WHERE owner_epoch = epoch AND requested_at IS NULL) "
        + "FROM leases WHERE closed_at IS NULL AND epoch <> 0 ORDER BY epoch",
        row => new ChaosEpoch(
            row.GetInt32(0), row.GetString(1), row.GetDateTime(2), row.GetInt64(3), row.GetInt64(4)),
        ("since", since));

    public async Task<long> CountUnsettledOfAsync(int epoch) => (await ReadAsync(
        "SELECT count(*) FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + "WHERE owner_epoch = @epoch AND requested_at IS NULL", row => row.GetInt64(0), ("epoch", epoch)))[0];

    /// <summary>What PostgreSQL knows of payments that have no settlement, and of their owners.</summary>
    public Task<List<string>> DescribeUnsettledAsync() => ReadAsync(
        "SELECT concat_ws(' ', correlation_id, accepted_at, 'owner_epoch', owner_epoch, 'handover', handover, "
        + "parked_reason, 'lease', instance, 'low-water mark', low_water_mark, 'closed', closed_at, "
        + "'adopted', adopted_at) "
        + "FROM payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
        + "LEFT JOIN leases ON owner_epoch = epoch WHERE requested_at IS NULL ORDER BY accepted_at LIMIT 20",
        row => row.GetString(0));

    public async Task<Dictionary<int, DateTime>> RenewalsAsync() => (await ReadAsync(
        "SELECT epoch, expires_at FROM leases WHERE closed_at IS NULL AND epoch <> 0",
        row => (Epoch: row.GetInt32(0), At: row.GetDateTime(1)))).ToDictionary(row => row.Epoch, row => row.At);

    /// <summary>What the ledger holds in a window: id and amount.</summary>
    public async Task<Dictionary<Guid, decimal>> LedgerAsync(DateTimeOffset from, DateTimeOffset to) =>
        (await ReadAsync(
            "SELECT correlation_id, amount_cents FROM settlements WHERE requested_at BETWEEN @from AND @to",
            row => (Id: row.GetGuid(0), Amount: row.GetInt64(1) / 100m),
            ("from", from.UtcDateTime), ("to", to.UtcDateTime))).ToDictionary(row => row.Id, row => row.Amount);

    /// <summary>Whose some payments are, and whether they have changed hands; what was emptied is not there.</summary>
    public async Task<Dictionary<Guid, ChaosOwner>> OwnersAsync(IEnumerable<Guid> ids) => (await ReadAsync(
        "SELECT correlation_id, coalesce(instance, ''), handover FROM payments LEFT JOIN leases ON owner_epoch = epoch "
        + "WHERE correlation_id = ANY(@ids)",
        row => (Id: row.GetGuid(0), Owner: new ChaosOwner(row.GetString(1), row.GetInt16(2) != 0)),
        ("ids", ids.ToArray()))).ToDictionary(row => row.Id, row => row.Owner);

    /// <summary>Ends whatever runs a statement of the gateway just now.</summary>
    /// <returns>How many statements were cut off.</returns>
    public async Task<int> TerminateActiveAsync() => (await ReadAsync(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND state = 'active' "
        + "AND backend_type = 'client backend' AND application_name <> 'tests'", row => row.GetBoolean(0)))
        .Count(ended => ended);

    /// <summary>The processes that serve the gateway's connections, by their ids.</summary>
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

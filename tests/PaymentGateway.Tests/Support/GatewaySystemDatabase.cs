namespace PaymentGateway.Tests.Support;

/// <summary>PostgreSQL of a whole system: read behind the gateway's back, frozen, thawed and killed.</summary>
public sealed class GatewaySystemDatabase(string connectionString, Func<int> postmaster)
{
    private readonly string _plain = $"{connectionString};Application Name=tests";

    private IReadOnlyList<int> _frozen = [];

    public async Task<Dictionary<Guid, LedgerEntry>> SettlementsAsync() => (await ReadAsync(
        "SELECT correlation_id, coalesce(name, processor::text), amount_cents, requested_at FROM settlements "
            + "LEFT JOIN processors ON id = processor",
        row => (
            Id: row.GetGuid(0), Entry: new LedgerEntry(row.GetString(1), row.GetInt64(2) / 100m, row.GetDateTime(3)))))
        .ToDictionary(row => row.Id, row => row.Entry);

    /// <summary>Payments without a settlement: of one owner, or all that do not wait for an operator.</summary>
    public Task<long> CountUnsettledAsync(long? epoch = null) => CountAsync(
        "payments LEFT JOIN settlements USING (accepted_at, correlation_id) WHERE requested_at IS NULL "
        + (epoch is null ? $"AND owner_epoch <> {Owners.Sql.Parked}" : $"AND owner_epoch = {epoch}"));

    public async Task ExecuteAsync(string sql)
    {
        await using var connection = await OpenAsync();
        await connection.ExecuteAsync(sql);
    }

    public Task<long> CountAsync(string rows) => NumberAsync($"SELECT count(*) FROM {rows}");

    public async Task<long> NumberAsync(string sql) =>
        Convert.ToInt64(await ScalarAsync<object>(sql), CultureInfo.InvariantCulture);

    public async Task<T> ScalarAsync<T>(string sql)
    {
        await using var connection = await OpenAsync();
        return await connection.ScalarAsync<T>(sql);
    }

    /// <summary>Waits until an instance, by the epoch that it has now, has accepted more than before.</summary>
    public async Task CarriesLoadAsync(string part)
    {
        const int More = 20;
        var (epoch, before) = await OwnedByAsync(part);
        await Eventually.HoldsAsync(
            async () =>
            {
                var (now, count) = await OwnedByAsync(part);
                // A jump of the clock gives the instance a new epoch; payments of the old one do not count for it.
                if (now != epoch)
                    (epoch, before) = (now, count);
                return count >= before + More;
            },
            $"{part} carries the load");
    }

    private async Task<(int Epoch, long Payments)> OwnedByAsync(string part) => (await ReadAsync(
        $"""
        SELECT newest, (SELECT count(*) FROM payments WHERE owner_epoch = newest)
        FROM (SELECT max(epoch) AS newest FROM leases WHERE instance LIKE '%/{part}.sock@%') AS lease
        """,
        row => (row.GetInt32(0), row.GetInt64(1))))[0];

    /// <summary>A lock that purges wait for and nothing else does, until what is given is disposed.</summary>
    public Task<IAsyncDisposable> LockPaymentsAsync() => LockAsync("LOCK TABLE payments IN ROW EXCLUSIVE MODE");

    public async Task<IAsyncDisposable> LockAsync(string sql) => await Statements.HoldAsync(_plain, sql);

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

    /// <summary>kill -9 of all its processes at once: no checkpoint, and no end of a connection.</summary>
    public async Task CrashAsync()
    {
        // A stopped postmaster forks no more; otherwise a server process that is not on the list would live on.
        Posix.Send(postmaster(), Signal.Stop);
        var processes = ProcessTree.Of(postmaster());
        foreach (var pid in processes)
            Posix.Send(pid, Signal.Kill);
        await Eventually.HoldsAsync(
            () => processes.All(pid => ProcessStatus.ReadLiving(pid) is null),
            "every process of PostgreSQL has terminated");
    }

    private Task<NpgsqlConnection> OpenAsync() => Statements.OpenAsync(_plain);

    private async Task<List<T>> ReadAsync<T>(string sql, Func<NpgsqlDataReader, T> read)
    {
        await using var connection = await OpenAsync();
        return await connection.ReadAsync(sql, read);
    }
}

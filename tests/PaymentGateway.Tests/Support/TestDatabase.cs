namespace PaymentGateway.Tests.Support;

/// <summary>
/// A database of a test class's own on the run's server, with the schema as the gateway makes it; `make test-storage`
/// names another database, and then it is a schema there. Without PostgreSQL the tests that need it are skipped.
/// </summary>
public class TestDatabase : IAsyncLifetime
{
    private static readonly string? Given = Environment.GetEnvironmentVariable("STORAGE_URL");
    private static readonly string? AfterTables = Environment.GetEnvironmentVariable("STORAGE_SQL");
    private static int _lastNumber;

    private readonly string _name = $"tests_{Environment.ProcessId}_{Interlocked.Increment(ref _lastNumber)}";
    private PostgresServer? _server;

    public PostgresServer Server => _server!;

    public string ConnectionString => _server is null
        ? $"{Given};Search Path={_name};{PostgresServer.Pool}"
        : _server.ConnectionString(_name);

    public NpgsqlDataSource Source { get; private set; } = null!;

    internal SharedConnections Shared => LedgerSetup.Shared(Source, TimeProvider.System);

    internal PaymentStore Payments => new(Connections);

    internal SettlementLedger Ledger => new(Shared, Connections);

    internal UnwrittenOutcomes Unwritten { get; } =
        new(new RecordingOptions(TimeSpan.Zero, 1_000, 20_000), TimeProvider.System);

    internal BatchConnections Connections { get; private set; } = null!;

    internal SchemaSetup Schema(bool durable = false, params Migration[] later) =>
        new(Shared, [.. Migration.All, .. later], durable, NullLogger<SchemaSetup>.Instance);

    internal LedgerStateStore LedgerState => new(Shared);

    internal LeaseStore Leases => new(Shared, Shared);

    internal AdoptionStore Adoptions => new(Shared, Connections);

    internal RestoreStore Restore => new(Shared, Leases);

    internal HealthStore Health => new(Shared);

    internal async Task<ChallengeSummary> SummariseAsync(DateTime? from, DateTime? to) => ChallengeSummary.Of(
        await new LedgerSummary(new SummaryStore(Shared), Unwritten, TestSettings.Read()).SummariseAsync(
            new SummaryWindow(from, to)));

    public async Task InitializeAsync()
    {
        if (!PostgresServer.IsInstalled)
            return;

        _server = TakeServer() is { } taken ? await taken : null;
        if (_server is not null && CopiesTables)
            await _server.CopyTablesAsync(_name);
        else
            await ExecuteOutsideAsync(_server is null ? $"CREATE SCHEMA {_name}" : $"CREATE DATABASE {_name}");
        Source = LedgerSetup.DataSource(ConnectionString);
        Connections = LedgerSetup.Connections(ConnectionString, 4);
        await PrepareAsync();
    }

    public virtual async Task DisposeAsync()
    {
        if (Source is null)
            return;
        await Connections.DisposeAsync();
        await Source.DisposeAsync();
        await ExecuteOutsideAsync(
            _server is null ? $"DROP SCHEMA {_name} CASCADE" : $"DROP DATABASE {_name} WITH (FORCE)");
    }

    /// <summary>Opens the database with another setting of the server, on all but the connections of batches.</summary>
    public async Task ReopenAsync(string setting)
    {
        await Source.DisposeAsync();
        Source = LedgerSetup.DataSource($"{ConnectionString};Options=-c {setting}");
    }

    /// <summary>The connections of batches, with another setting of Npgsql.</summary>
    public async Task ReopenBatchesAsync(string setting)
    {
        await Connections.DisposeAsync();
        Connections = LedgerSetup.Connections($"{ConnectionString};{setting}", 4);
    }

    public async Task ExecuteAsync(string sql)
    {
        await using var command = Source.CreateCommand(sql);
        await command.ExecuteNonQueryAsync();
    }

    public async Task<T> ScalarAsync<T>(string sql)
    {
        await using var command = Source.CreateCommand(sql);
        return (T)(await command.ExecuteScalarAsync())!;
    }

    public Task<NpgsqlConnection> HoldAsync(string sql) => Statements.HoldAsync(ConnectionString, sql);

    public async Task PurgeAsync(CancellationToken cancellation = default) =>
        await LedgerState.PurgeAsync(await LedgerState.PurgeUntilAsync(), cancellation);

    // On Citus a statement may wait at a worker, which shows in its own view alone.
    public Task WaitsForLockAsync(string what) => Eventually.HoldsAsync(
        () => ScalarAsync<bool>(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() "
            + "AND wait_event_type = 'Lock')"
            + (string.IsNullOrEmpty(AfterTables) ? "" : " OR EXISTS (SELECT FROM citus_lock_waits)")),
        what);

    public Task<int> OpenEpochAsync(TimeSpan? duration = null) =>
        // Each of an instance of its own, because one instance's closed epochs are left to its open one.
        Leases.OpenAsync(new OpenLeaseArgs(
            $"tests {Guid.NewGuid()}", duration ?? TimeSpan.FromMinutes(5), Stages.Processors));

    /// <summary>What an UPDATE of payments sets to park them.</summary>
    public const string Parked = "owner_epoch = -1, may_be_at = 0, parked_at = now(), parked_reason = 'tests'";

    public Task ParkAsync(string where) => ExecuteAsync($"UPDATE payments SET {Parked} WHERE {where}");

    public Task<T> LeaseAsync<T>(int epoch, string column) =>
        ScalarAsync<T>($"SELECT {column} FROM leases WHERE epoch = {epoch}");

    /// <summary>Stores payments of 19.90 that an owner has accepted, by default at noon.</summary>
    internal async Task<StoreArgs> StoreAsync(int owner, int count, DateTime? acceptedAt = null)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), owner, acceptedAt);
        Assert.Equal(count, (await Payments.StoreAsync(batch)).Length);
        return batch;
    }

    /// <summary>Stores payments and settles them at default, all requested at noon.</summary>
    internal async Task<StoreArgs> SettleAsync(int owner, int count, DateTime? acceptedAt = null)
    {
        var batch = await StoreAsync(owner, count, acceptedAt);
        Assert.Equal(count, await Ledger.RecordAsync(Batches.ToRecord(batch)));
        return batch;
    }

    /// <summary>Otherwise the database is empty before PrepareAsync.</summary>
    protected virtual bool CopiesTables => true;

    protected virtual Task<PostgresServer>? TakeServer() => Given is null ? PostgresServer.Shared : null;

    protected virtual async Task PrepareAsync()
    {
        await Schema().EnsureAsync();
        if (_server is null && !string.IsNullOrEmpty(AfterTables))
            foreach (var statement in (await File.ReadAllTextAsync(AfterTables)).Split(";\n"))
                if (statement.Contains("SELECT", StringComparison.Ordinal))
                    await ExecuteAsync(statement);
    }

    private async Task ExecuteOutsideAsync(string sql)
    {
        await using var connection = await Statements.OpenAsync(_server?.ConnectionString("postgres") ?? Given!);
        await connection.ExecuteAsync(sql);
    }
}

public class EmptyTestDatabase : TestDatabase
{
    protected override bool CopiesTables => false;

    protected override Task PrepareAsync() => Task.CompletedTask;
}

/// <summary>A database on the run's own server, because its processes are stopped and frozen.</summary>
public sealed class LocalTestDatabase : TestDatabase
{
    protected override Task<PostgresServer>? TakeServer() => PostgresServer.Shared;
}

public sealed class EmptyDurableDatabase : EmptyTestDatabase
{
    protected override Task<PostgresServer>? TakeServer() => PostgresServer.SharedDurable;
}

/// <summary>A database on a server of its own, which the test may stop and freeze.</summary>
public class OwnServerDatabase : TestDatabase
{
    protected override bool CopiesTables => false;

    /// <summary>Starts the server again; our own connections to the one before it are forgotten.</summary>
    public async Task StartAgainAsync()
    {
        await Server.StartAgainAsync();
        Source.Clear();
    }

    public override async Task DisposeAsync()
    {
        if (!PostgresServer.IsInstalled)
            return;
        await Source.DisposeAsync();
        await Server.DisposeAsync();
    }

    protected override Task<PostgresServer>? TakeServer() => PostgresServer.StartAsync();
}

using System.IO.Hashing;

namespace PaymentGateway.Storage;

/// <summary>Brings the tables to this binary's version, and refuses those that it must not run on.</summary>
/// <param name="shared">Their command timeout limits a migration.</param>
/// <param name="migrations">Those of this binary, in order.</param>
/// <param name="durable">Whether the tables must survive a crash of the database.</param>
internal sealed partial class SchemaSetup(
    SharedConnections shared, IReadOnlyList<Migration> migrations, bool durable, ILogger<SchemaSetup> log)
{
    // Two instances at once would both create tables; the lock ends with the transaction.
    private const string LockSql = "SELECT pg_advisory_xact_lock(72616966)";

    // Logged in both profiles, because a crash empties UNLOGGED tables and keeps their structure.
    private const string VersionTableSql = """
        CREATE TABLE IF NOT EXISTS schema_version (
            version    integer PRIMARY KEY,
            name       text NOT NULL,
            checksum   text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """;

    private const string VersionsSql = "SELECT version, checksum FROM schema_version ORDER BY version";

    // Short, because payments wait behind a statement that waits for a table's lock.
    private const string LimitSql = """
        SELECT set_config('lock_timeout', '300ms', true), set_config('statement_timeout', @StatementTimeout, true)
        """;

    private const string AppliedSql =
        "INSERT INTO schema_version (version, name, checksum) VALUES (@Version, @Name, @Checksum)";

    /// <summary>Applies and returns the missing migrations; safe at any time and by two instances at once.</summary>
    /// <exception cref="ConfigurationException">
    /// The tables or the server are of the other profile, or the tables are of an unknown version, or of an earlier one
    /// that this role may not change.
    /// </exception>
    /// <exception cref="DbException">With LockNotAvailable a table was in use all the time.</exception>
    public async Task<IReadOnlyList<Migration>> EnsureAsync()
    {
        var state = await StateAsync();
        if (durable && state.SwitchedOff.Length > 0)
            throw new ConfigurationException(
                "Gateway__Storage__Profile",
                $"is Durable, but PostgreSQL has {state.SwitchedOff} (postgres/durable.conf has what it needs; "
                    + "Unlogged does without)");
        if (state.Versioned == 0 != (state.Tables == 0))
            throw Wrong("names tables without their schema_version, or that without them (drop them all, "
                + "schema_version too, or name another database)");
        RefuseOtherProfile(state);

        var applied = new List<Migration>();
        var versions = state.Versioned == 0 ? [] : await shared.RunAsync(VersionsAsync);
        foreach (var migration in Pending(versions))
            if (await ApplyAsync(migration))
            {
                Log.Applied(log, migration.Version, migration.Name);
                applied.Add(migration);
            }

        return applied;
    }

    private async Task<SchemaState> StateAsync()
    {
        try
        {
            var state = await shared.RunAsync(SchemaState.ReadAsync);
            return state.IsPooled ? throw Pooled("drops") : state;
        }
        catch (PostgresException refused) when (
            refused.MessageText.Contains("startup parameter", StringComparison.Ordinal))
        {
            throw Pooled("refuses");
        }

        static ConfigurationException Pooled(string does) => Wrong(
            $"names a pooler, such as PgBouncer, that {does} the settings of a connection (name PostgreSQL itself)");
    }

    /// <summary>Whether a statement failed because the server has other tables now.</summary>
    public static bool IsOfOtherTables(Exception failed) => failed is PostgresException
    {
        SqlState: PostgresErrorCodes.UndefinedTable or PostgresErrorCodes.UndefinedColumn,
    };

    private static async Task<List<AppliedVersion>> VersionsAsync(NpgsqlConnection db) =>
        (await db.QueryAsync<AppliedVersion>(VersionsSql)).AsList();

    private List<Migration> Pending(List<AppliedVersion> applied)
    {
        var pending = migrations.ToList();
        foreach (var (version, checksum) in applied)
        {
            if (pending.Find(migration => migration.Version == version) is not { } known)
                throw Wrong(
                    $"names tables of version {version}, and this binary knows {migrations.Count}: run the newer one");
            if (known.Checksum != checksum)
                throw Wrong($"names tables whose version {version} is not the {known.Name} of this binary");
            pending.Remove(known);
        }

        return pending;
    }

    private async Task<bool> ApplyAsync(Migration migration)
    {
        try
        {
            return await shared.LockAsync(db => ApplyAsync(db, migration));
        }
        catch (PostgresException refused) when (refused.SqlState == PostgresErrorCodes.InsufficientPrivilege)
        {
            throw Wrong(
                $"names a role that may not bring the tables to version {migration.Version}: run "
                + $"`PaymentGateway migrate` as their owner first ({refused.MessageText})");
        }
    }

    /// <returns>False when another instance was first.</returns>
    private async Task<bool> ApplyAsync(NpgsqlConnection db, Migration migration)
    {
        await db.OpenAsync();
        await using var transaction = await db.BeginTransactionAsync();
        await db.ExecuteAsync(LockSql);
        await db.ExecuteAsync(VersionTableSql);
        // Again, because an instance of the other profile may have been first.
        RefuseOtherProfile(await SchemaState.ReadAsync(db));
        if (!Pending(await VersionsAsync(db)).Contains(migration))
            return false;

        // The server's limit ends 1 s before that of the command; 0 is none.
        var limit = string.Create(CultureInfo.InvariantCulture, $"{Math.Max(0, db.CommandTimeout - 1)}s");
        await db.ExecuteAsync(LimitSql, new { StatementTimeout = limit });
        foreach (var statement in migration.Statements(durable))
            await db.ExecuteAsync(statement);
        await db.ExecuteAsync(AppliedSql, migration);
        await transaction.CommitAsync();
        return true;
    }

    // Each table: after a crash that empties payments alone, an id would be accepted and settled again.
    private void RefuseOtherProfile(SchemaState state)
    {
        if ((durable ? state.Unlogged : state.Logged) != 0)
            throw new ConfigurationException(
                "Gateway__Storage__Profile",
                durable
                    ? "is Durable, but tables are UNLOGGED (set Unlogged, ALTER TABLE … SET LOGGED each, or drop all)"
                    : "is Unlogged, but tables are logged (set Durable, ALTER TABLE … SET UNLOGGED each, or drop all)");
    }

    private static ConfigurationException Wrong(string reason) => new("ConnectionStrings__Ledger", reason);

    private static partial class Log
    {
        [LoggerMessage(220, LogLevel.Information, "The tables have version {Version} now: {Name}")]
        public static partial void Applied(ILogger log, int version, string name);
    }
}

internal sealed record AppliedVersion(int Version, string Checksum);

/// <summary>A file of postgres/migrations. It never changes, because the database keeps the checksum.</summary>
/// <param name="Version">From 1, without a gap.</param>
/// <param name="Name">Of its file, without number and extension.</param>
/// <param name="Sql">Its statements; each ends with a semicolon and an empty line.</param>
internal sealed record Migration(int Version, string Name, string Sql)
{
    private const string Folder = "migrations/";
    private const string Extension = ".sql";

    public static IReadOnlyList<Migration> All { get; } = LoadAll();

    /// <summary>XXH128 of its file, in hexadecimals. SHA-256 would load OpenSSL: 4 MB in each instance.</summary>
    public string Checksum { get; } = Convert.ToHexString(XxHash128.Hash(Encoding.UTF8.GetBytes(Sql)));

    /// <summary>Its statements; the durable profile leaves the word UNLOGGED out.</summary>
    public string[] Statements(bool durable) =>
        (durable ? Sql.Replace("CREATE UNLOGGED TABLE", "CREATE TABLE", StringComparison.Ordinal) : Sql)
            .Split(";\n\n", StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    private static Migration[] LoadAll() =>
        [.. typeof(Migration).Assembly.GetManifestResourceNames()
            .Where(name => name.StartsWith(Folder, StringComparison.Ordinal))
            .Order(StringComparer.Ordinal).Select(Load)];

    private static Migration Load(string resource)
    {
        using var stream = typeof(Migration).Assembly.GetManifestResourceStream(resource)!;
        using var reader = new StreamReader(stream);
        var file = resource[Folder.Length..^Extension.Length];
        var dash = file.IndexOf('-', StringComparison.Ordinal);
        return new Migration(
            int.Parse(file.AsSpan(0, dash), CultureInfo.InvariantCulture), file[(dash + 1)..], reader.ReadToEnd());
    }
}

/// <summary>
/// Counts of our tables: schema_version, the others, logged ones that the unlogged profile has UNLOGGED, and UNLOGGED
/// ones. SwitchedOff lists the server's safety settings that are off. IsPooled: the settings of the connection did not
/// arrive.
/// </summary>
internal sealed record SchemaState(
    long Versioned, long Tables, long Logged, long Unlogged, string SwitchedOff, bool IsPooled)
{
    private const string Sql = """
        SELECT count(*) FILTER (WHERE relname = 'schema_version') AS versioned,
               count(*) FILTER (WHERE relname <> 'schema_version') AS tables,
               count(*) FILTER (WHERE relname NOT IN ('ledger', 'leases', 'open_epochs', 'operator_actions',
                                                 'payers', 'processor_health', 'processors', 'schema_version',
                                                 'webhooks')
                                AND relpersistence = 'p') AS logged,
               count(*) FILTER (WHERE relpersistence = 'u') AS unlogged,
               (SELECT coalesce(string_agg(name || '=off', ', ' ORDER BY name), '') FROM pg_settings
                WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off') AS switched_off,
               (SELECT source <> 'client' FROM pg_settings WHERE name = 'client_min_messages') AS is_pooled
        FROM pg_class
        WHERE relname IN ('ledger', 'payments', 'settlements', 'settlement_totals', 'ledger_intact', 'leases',
                          'processor_health', 'processors', 'schema_version', 'doubts', 'instance_readings',
                          'operator_actions', 'payment_events', 'webhooks', 'open_epochs', 'payers')
          AND relnamespace = current_schema()::regnamespace
        """;

    public static Task<SchemaState> ReadAsync(NpgsqlConnection db) => db.QuerySingleAsync<SchemaState>(Sql);
}

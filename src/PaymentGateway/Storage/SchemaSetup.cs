using System.Data.Common;
using Dapper;
using Npgsql;
using PaymentGateway.Configuring;

namespace PaymentGateway.Storage;

/// <summary>Creates the ledger where it is missing, from the embedded postgres/schema.sql.</summary>
internal sealed class SchemaSetup(SharedConnections connections, GatewayOptions options)
{
    private const string StateSql = """
        SELECT count(*) FILTER (WHERE relname = 'ledger') AS ledger,
               count(*) FILTER (WHERE relname NOT IN ('ledger', 'leases', 'processor_health')
                                AND relpersistence = 'p') AS logged,
               count(*) FILTER (WHERE relpersistence = 'u') AS unlogged,
               (SELECT count(*) FROM pg_attribute WHERE NOT attisdropped
                  AND (attrelid, attname) IN (
                    (to_regclass('leases'), 'low_water_mark'),
                    (to_regclass('payments'), 'owner_epoch'),
                    (to_regclass('settlement_totals'), 'width_seconds'),
                    (to_regclass('settlement_totals'), 'epoch'),
                    (to_regclass('settlements'), 'accepted_at'))) AS later_columns,
               (SELECT count(*) FROM pg_attribute WHERE NOT attisdropped
                  AND (attrelid, attname) IN (
                    (to_regclass('leases'), 'used_fallback'),
                    (to_regclass('leases'), 'refused_until'),
                    (to_regclass('leases'), 'renewal'),
                    (to_regclass('payments'), 'parked_at'),
                    (to_regclass('payments'), 'attempts'),
                    (to_regclass('settlements'), 'attempts'),
                    (to_regclass('doubts'), 'in_doubt_at'))) AS added_columns,
               (SELECT coalesce(string_agg(name || '=off', ', ' ORDER BY name), '') FROM pg_settings
                WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off') AS switched_off
        FROM pg_class
        WHERE relname IN ('ledger', 'payments', 'settlements', 'settlement_totals', 'ledger_intact', 'leases',
                          'processor_health', 'doubts')
          AND relnamespace = current_schema()::regnamespace
        """;

    // As many as the statement names.
    private const int LaterCount = 5;
    private const int AddedCount = 7;

    /// <summary>Safe to call at any time and by two instances at once.</summary>
    /// <exception cref="ConfigurationException">
    /// The tables or the server are of the other storage profile, or the tables of an earlier version.
    /// </exception>
    /// <exception cref="DbException">PostgreSQL is unavailable or refuses.</exception>
    public async Task EnsureAsync()
    {
        var state = await StateAsync();
        if (options.Durable && state.SwitchedOff.Length > 0)
            throw new ConfigurationException(
                "Gateway__Storage__Profile",
                $"is Durable, but PostgreSQL has {state.SwitchedOff} (postgres/durable.conf has what it needs)");

        if (state.Ledger == 0 || (state.LaterColumns == LaterCount && state.AddedColumns < AddedCount))
        {
            await connections.RunAsync(CreateAsync);
            // What was there already stayed as it was, but for columns that can be added to it.
            state = await StateAsync();
        }

        if (state.LaterColumns != LaterCount)
            throw new ConfigurationException(
                "ConnectionStrings__Ledger",
                "names tables of an earlier version (drop them all, or name another database)");
        // Each of them: were payments emptied alone by a crash, an id could be accepted, and settled, once more.
        if ((options.Durable ? state.Unlogged : state.Logged) != 0)
            throw new ConfigurationException(
                "Gateway__Storage__Profile",
                options.Durable
                    ? "is Durable, but tables are UNLOGGED (ALTER TABLE … SET LOGGED each, or drop them)"
                    : "is Unlogged, but tables are logged (ALTER TABLE … SET UNLOGGED each, or drop them)");
    }

    private Task<SchemaState> StateAsync() =>
        connections.RunAsync(connection => connection.QuerySingleAsync<SchemaState>(
            StateSql, commandTimeout: connection.CommandTimeout));

    private async Task<int> CreateAsync(NpgsqlConnection connection)
    {
        var statements = Statements();
        await connection.OpenAsync();
        await using var transaction = await connection.BeginTransactionAsync();
        foreach (var statement in statements)
            await connection.ExecuteAsync(statement, null, transaction, connection.CommandTimeout);
        await transaction.CommitAsync();
        return statements.Length;
    }

    private string[] Statements()
    {
        using var stream = typeof(SchemaSetup).Assembly.GetManifestResourceStream("schema.sql")
            ?? throw new InvalidOperationException("schema.sql is not embedded");
        using var reader = new StreamReader(stream);
        var schema = reader.ReadToEnd();
        if (options.Durable)
            schema = schema.Replace("CREATE UNLOGGED TABLE", "CREATE TABLE", StringComparison.Ordinal);

        return schema.Split(";\n", StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
    }
}

/// <summary>
/// Which of our tables exist, whether the ledger survives a crash of the database, how many columns it has of those
/// that came later and of those that can be added, and what of the server's own safety is switched off, in words.
/// </summary>
internal sealed record SchemaState(
    long Ledger, long Logged, long Unlogged, long LaterColumns, long AddedColumns, string SwitchedOff);

using Dapper;
using Npgsql;

namespace PaymentGateway.Storage;

/// <summary>
/// Which of our tables exist, whether the ledger survives a crash of the database, how many columns it has of those
/// that came later and of those that can be added, and what of the server's own safety is switched off, in words.
/// </summary>
internal sealed record SchemaState(
    long Ledger, long Versioned, long Logged, long Unlogged, long LaterColumns, long AddedColumns, string SwitchedOff)
{
    private const string Sql = """
        SELECT count(*) FILTER (WHERE relname = 'ledger') AS ledger,
               count(*) FILTER (WHERE relname = 'schema_version') AS versioned,
               count(*) FILTER (WHERE relname NOT IN ('ledger', 'leases', 'operator_actions', 'processor_health',
                                                 'schema_version')
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
                    (to_regclass('leases'), 'renewal'))) AS added_columns,
               (SELECT coalesce(string_agg(name || '=off', ', ' ORDER BY name), '') FROM pg_settings
                WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off') AS switched_off
        FROM pg_class
        WHERE relname IN ('ledger', 'payments', 'settlements', 'settlement_totals', 'ledger_intact', 'leases',
                          'processor_health', 'schema_version', 'doubts', 'watching',
                          'instance_readings', 'retention_hours', 'operator_actions')
          AND relnamespace = current_schema()::regnamespace
        """;

    // As many as the statement names.
    private const int LaterCount = 5;
    private const int AddedCount = 3;

    /// <summary>The tables have all columns of the first version.</summary>
    public bool IsWhole => this is { Ledger: 1, LaterColumns: LaterCount, AddedColumns: AddedCount };

    /// <summary>They are there, and lack columns that no migration adds.</summary>
    public bool IsTooOld => this is { Ledger: 1, LaterColumns: not LaterCount };

    /// <summary>What there is now; in a transaction, what it has made of it.</summary>
    public static Task<SchemaState> ReadAsync(NpgsqlConnection connection, NpgsqlTransaction? transaction = null) =>
        connection.QuerySingleAsync<SchemaState>(Sql, null, transaction, connection.CommandTimeout);
}

namespace PaymentGateway.Tests.Storage;

/// <summary>The tables of a database as PostgreSQL's catalog has them, but for the list of versions.</summary>
internal static class CatalogOf
{
    /// <summary>A line for each column and each index, in the order of their names.</summary>
    public static async Task<string[]> Async(TestDatabase database) => (await database.ScalarAsync<string>("""
        SELECT coalesce(string_agg(line, E'\n' ORDER BY line), '') FROM (
            SELECT relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || relpersistence::text
                || ' ' || attnotnull || ' ' || attidentity::text || ' ' || coalesce(pg_get_expr(adbin, adrelid), '')
                || ' ' || coalesce(reloptions::text, '') AS line
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef
                ON adrelid = attrelid AND adnum = attnum
            WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
            UNION ALL
            SELECT replace(indexdef, schemaname || '.', '') FROM pg_indexes WHERE schemaname = current_schema()
        ) AS lines WHERE line !~ 'schema_version'
        """)).Split('\n');
}

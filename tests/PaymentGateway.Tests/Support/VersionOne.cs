namespace PaymentGateway.Tests.Support;

/// <summary>
/// The tables of version 1 with 12 payments: 8 are settled, one of them at fallback; one is parked, one released in
/// doubt, and two are of an epoch that was killed.
/// </summary>
internal static class VersionOne
{
    private const string Versions = """
        CREATE TABLE schema_version (
            version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now())
        """;

    private const string Content = """
        INSERT INTO leases (epoch, instance, expires_at, low_water_mark, renewal, closed_at, adopted_at, used_fallback)
        OVERRIDING SYSTEM VALUE VALUES
            (1, '/run/api1.sock@one', '2026-11-20 12:01:00Z', '2026-11-20 12:00:00Z', 61, '2026-11-20 12:01:00Z',
             '2026-11-20 12:01:05Z', true),
            (2, '/run/api2.sock@one', '2026-11-20 12:02:00Z', '2026-11-20 12:01:30Z', 121, NULL, NULL, false);
        SELECT setval('leases_epoch_seq', 2);
        UPDATE ledger SET generation = 3;
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, handover, parked_reason)
        SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1990 + n,
               '2026-11-20 12:00:00Z'::timestamptz + n * interval '10.000001 seconds',
               CASE WHEN n < 5 THEN 1 WHEN n = 5 THEN -1 WHEN n = 6 THEN 0 ELSE 2 END,
               CASE n WHEN 6 THEN 3 ELSE 0 END, CASE n WHEN 5 THEN 'Default answered 400' END
        FROM generate_series(1, 12) AS n;
        INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
        SELECT correlation_id, accepted_at, CASE amount_cents WHEN 1993 THEN 2 ELSE 1 END, amount_cents,
               accepted_at + interval '5.123 milliseconds'
        FROM payments WHERE amount_cents - 1990 IN (1, 2, 3, 4, 7, 8, 9, 10);
        INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
        SELECT width, date_bin(width * interval '1 second', requested_at, 'epoch'), processor, 1, count(*),
               sum(amount_cents)
        FROM settlements, (VALUES (5), (3600)) AS widths (width) GROUP BY 1, 2, 3
        """;

    public static Task CreateAsync(TestDatabase database, bool durable = false) =>
        database.ExecuteAsync(All(durable));

    public static Task ReplaceAsync(NpgsqlConnection connection) =>
        connection.ExecuteAsync($"DROP SCHEMA public CASCADE; CREATE SCHEMA public; {All(durable: false)}");

    private static string All(bool durable)
    {
        var first = Migration.All[0];
        var version = $"INSERT INTO schema_version VALUES (1, '{first.Name}', '{first.Checksum}')";
        return string.Join(";\n", [.. first.Statements(durable), Versions, version, Content]);
    }
}

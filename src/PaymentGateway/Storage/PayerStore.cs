namespace PaymentGateway.Storage;

/// <summary>The permanent numbers of payers' names, on the connections whose commits no crash undoes.</summary>
internal sealed class PayerStore([FromKeyedServices(LeaseStore.Leases)] SharedConnections leases)
{
    private const string RegisterSql = """
        WITH named AS (
            INSERT INTO payers (id, name)
            SELECT new.id, new.name FROM (
                SELECT (SELECT coalesce(max(id), 0) FROM payers) + row_number() OVER (ORDER BY name) AS id, name
                FROM unnest(@Names) AS given (name)
                WHERE NOT EXISTS (SELECT 1 FROM payers WHERE payers.name = given.name)) AS new
            ON CONFLICT DO NOTHING
            RETURNING id, name
        )
        SELECT id, name FROM named UNION ALL SELECT id, name FROM payers WHERE name = ANY(@Names)
        """;

    /// <summary>Gives each name a number.</summary>
    /// <returns>Those with one; a name is missing where another instance registered at the same moment.</returns>
    public Task<List<PayerRow>> RegisterAsync(string[] names) =>
        leases.ListAsync(db => db.QueryAsync<PayerRow>(RegisterSql, new { Names = names }));
}

internal sealed record PayerRow(int Id, string Name);

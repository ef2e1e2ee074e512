namespace PaymentGateway.Storage;

/// <summary>
/// The permanent numbers of the names of payers, on the connections whose commits no crash undoes. Any thread.
/// </summary>
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

    // All that were ever given: each epoch begins with them, because another server may have begun with other names.
    private volatile KnownPayer[] _registered = [];

    /// <summary>Gives each payer its number, and those of before theirs again.</summary>
    /// <exception cref="DbException">PostgreSQL is unavailable.</exception>
    /// <exception cref="TimeoutException">No answer, or another instance registered a name at this moment.</exception>
    public async Task RegisterAsync(params KnownPayer[] payers)
    {
        KnownPayer[] all = [.. _registered.Union(payers)];
        if (all.Length == 0)
            return;

        var names = Array.ConvertAll(all, static payer => payer.Name);
        var rows = await leases.ListAsync(db => db.QueryAsync<PayerRow>(RegisterSql, new { Names = names }));
        foreach (var payer in all)
            payer.Number = rows.Find(row => row.Name == payer.Name)?.Id
                ?? throw new TimeoutException($"payer {payer.Name} has no number yet");
        _registered = all;
    }
}

internal sealed record PayerRow(int Id, string Name);

namespace PaymentGateway.Storage;

/// <summary>
/// The permanent numbers of the names of payers, on the connections whose commits no crash undoes. Any thread.
/// </summary>
internal sealed class PayerStore([FromKeyedServices(LeaseStore.Leases)] SharedConnections leases) : IDisposable
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

    private const int Tries = 3;

    // All that were ever asked for: they are registered again for each epoch and after each outage, because another
    // server may have other numbers.
    private readonly List<KnownPayer> _wanted = [];

    // One call at a time, otherwise the answer of a former server could come after that of the present one.
    private readonly SemaphoreSlim _turn = new(1);

    /// <summary>Gives each payer its number, and those of before theirs again.</summary>
    /// <exception cref="DbException">PostgreSQL is unavailable.</exception>
    /// <exception cref="TimeoutException">No answer, or other instances register names again and again.</exception>
    public async Task RegisterAsync(params KnownPayer[] payers)
    {
        await _turn.WaitAsync();
        try
        {
            _wanted.AddRange([.. payers.Except(_wanted)]);
            if (_wanted.Count > 0)
                await RegisterAllAsync([.. _wanted]);
        }
        finally
        {
            _turn.Release();
        }
    }

    public void Dispose() => _turn.Dispose();

    private async Task RegisterAllAsync(KnownPayer[] all)
    {
        var names = Array.ConvertAll(all, static payer => payer.Name);
        // A name is missing where another instance has registered it at the same moment.
        for (var attempt = 1; ; attempt++)
        {
            var rows = await leases.ListAsync(db => db.QueryAsync<PayerRow>(RegisterSql, new { Names = names }));
            var numbers = Array.ConvertAll(all, payer => rows.Find(row => row.Name == payer.Name)?.Id ?? 0);
            if (Array.IndexOf(numbers, 0) < 0)
            {
                for (var i = 0; i < all.Length; i++)
                    all[i].Number = numbers[i];
                return;
            }

            if (attempt == Tries)
                throw new TimeoutException("Other instances register payers at this moment.");
        }
    }
}

internal sealed record PayerRow(int Id, string Name);

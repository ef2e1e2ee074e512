using Dapper;

namespace PaymentGateway.Recording;

/// <summary>Payments set aside for an operator: owned by nobody who settles, never dropped.</summary>
internal sealed class ParkedStore(SharedConnections connections)
{
    private const string ParkSql = """
        UPDATE payments SET owner = -1, parked_reason = @Reason
        WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner = @Owner
        """;

    private const string ListSql = """
        SELECT correlation_id, amount_cents, accepted_at, parked_reason AS reason FROM payments
        WHERE owner = -1 ORDER BY accepted_at LIMIT 1000
        """;

    // In doubt, whatever it was parked for: the adopter looks it up at both processors before it charges.
    private const string ReplaySql = """
        UPDATE payments SET owner = 0, handover = 2, parked_reason = NULL WHERE correlation_id = @Id AND owner = -1
        """;

    /// <summary>Parks a payment; does nothing when it is no longer this owner's.</summary>
    public Task ParkAsync(ParkArgs parking) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            ParkSql, parking, commandTimeout: connection.CommandTimeout));

    /// <summary>The oldest 1,000 parked payments.</summary>
    public Task<List<ParkedRow>> ListAsync() =>
        connections.RunAsync(
            async connection => (await connection.QueryAsync<ParkedRow>(
                ListSql, commandTimeout: connection.CommandTimeout)).AsList());

    /// <summary>Gives a parked payment back to be settled by anyone.</summary>
    /// <returns>False when no such payment is parked.</returns>
    public async Task<bool> ReplayAsync(Guid id) =>
        await connections.RunAsync(connection => connection.ExecuteAsync(
            ReplaySql, new ReplayArgs(id), commandTimeout: connection.CommandTimeout)) == 1;
}

/// <summary>A payment to park, and why.</summary>
internal sealed record ParkArgs(Guid Id, DateTime AcceptedAt, int Owner, string Reason);

/// <summary>A payment to replay.</summary>
internal sealed record ReplayArgs(Guid Id);

/// <summary>A parked payment.</summary>
internal sealed record ParkedRow(Guid CorrelationId, long AmountCents, DateTime AcceptedAt, string Reason);

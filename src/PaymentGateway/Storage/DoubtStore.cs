namespace PaymentGateway.Storage;

/// <summary>
/// Which payments are in doubt, for whoever asks any instance. Nothing decides by it: owners know their own.
/// </summary>
internal sealed class DoubtStore(SharedConnections connections)
{
    private const string MarkSql = """
        INSERT INTO doubts (accepted_at, correlation_id)
        SELECT accepted_at, correlation_id FROM unnest(@AcceptedAts, @Ids) AS begun (accepted_at, correlation_id)
        ORDER BY accepted_at, correlation_id
        ON CONFLICT DO NOTHING
        """;

    private const string ClearSql = """
        DELETE FROM doubts USING unnest(@AcceptedAts, @Ids) AS ended (accepted_at, correlation_id)
        WHERE doubts.accepted_at = ended.accepted_at AND doubts.correlation_id = ended.correlation_id
        """;

    // Payments before settlements, as a purge locks them. What was purged goes too.
    private const string SweepSql = """
        DELETE FROM doubts
        WHERE (SELECT accepted_at FROM payments WHERE payments.correlation_id = doubts.correlation_id)
                IS DISTINCT FROM doubts.accepted_at
           OR (SELECT true FROM settlements WHERE settlements.accepted_at = doubts.accepted_at
                 AND settlements.correlation_id = doubts.correlation_id)
        """;

    /// <summary>Says that payments are in doubt, from now on by the database's clock where it is news.</summary>
    public Task MarkAsync(DoubtArgs begun) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            MarkSql, begun, commandTimeout: connection.CommandTimeout));

    /// <summary>Says that unsettled payments are in doubt no more.</summary>
    public Task ClearAsync(DoubtArgs ended) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            ClearSql, ended, commandTimeout: connection.CommandTimeout));

    /// <summary>Takes out, for all instances, what is settled by now.</summary>
    public Task SweepAsync() =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            SweepSql, commandTimeout: connection.CommandTimeout));
}

/// <summary>Payments by acceptance time and id, both arrays of one length.</summary>
internal sealed record DoubtArgs(DateTime[] AcceptedAts, Guid[] Ids);

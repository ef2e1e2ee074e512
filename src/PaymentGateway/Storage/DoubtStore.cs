namespace PaymentGateway.Storage;

/// <summary>Payments in doubt of all instances, for display only: each owner decides by its memory.</summary>
internal sealed class DoubtStore(SharedConnections shared)
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

    // Locks payments before settlements, as a purge does.
    private const string SweepSql = """
        DELETE FROM doubts
        WHERE (SELECT accepted_at FROM payments WHERE payments.correlation_id = doubts.correlation_id)
                IS DISTINCT FROM doubts.accepted_at
           OR (SELECT true FROM settlements WHERE settlements.accepted_at = doubts.accepted_at
                 AND settlements.correlation_id = doubts.correlation_id)
        """;

    /// <summary>Stores payments in doubt; a stored one keeps its time.</summary>
    public Task MarkAsync(DoubtArgs begun) =>
        shared.RunAsync(db => db.ExecuteAsync(MarkSql, begun, commandTimeout: db.CommandTimeout));

    public Task ClearAsync(DoubtArgs ended) =>
        shared.RunAsync(db => db.ExecuteAsync(ClearSql, ended, commandTimeout: db.CommandTimeout));

    /// <summary>Deletes, for all instances, the payments that are settled or purged by now.</summary>
    public Task SweepAsync() =>
        shared.RunAsync(db => db.ExecuteAsync(SweepSql, commandTimeout: db.CommandTimeout));
}

/// <summary>Payments by acceptance time and id, both arrays of one length.</summary>
internal sealed record DoubtArgs(DateTime[] AcceptedAts, Guid[] Ids);

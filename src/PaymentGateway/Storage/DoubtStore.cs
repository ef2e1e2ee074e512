namespace PaymentGateway.Storage;

/// <summary>
/// Payments in doubt of all instances, for display only, because each owner decides by its memory; and the word of a
/// processor that it has a payment, which every later owner obeys.
/// </summary>
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

    // Of any owner, because it stays true whoever owns the payment.
    private const string HoldSql = """
        UPDATE payments SET held_by = nullif(told.held_by, 0)
        FROM unnest(@Ids, @AcceptedAts, @HeldBy) AS told (correlation_id, accepted_at, held_by)
        WHERE payments.correlation_id = ANY(@Ids) AND payments.correlation_id = told.correlation_id
          AND payments.accepted_at = told.accepted_at AND payments.held_by IS DISTINCT FROM nullif(told.held_by, 0)
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
    public Task MarkAsync(DoubtArgs begun) => shared.RunAsync(db => db.ExecuteAsync(MarkSql, begun));

    public Task ClearAsync(DoubtArgs ended) => shared.RunAsync(db => db.ExecuteAsync(ClearSql, ended));

    /// <summary>Stores which processor has said that it has a payment; nothing where the payment was purged.</summary>
    /// <exception cref="DbException">The outcome is unknown; repeat.</exception>
    public Task HoldAsync(HoldArgs held) => shared.RunAsync(db => db.ExecuteAsync(HoldSql, held));

    /// <summary>Deletes, for all instances, the payments that are settled or purged by now.</summary>
    public Task SweepAsync() => shared.RunAsync(db => db.ExecuteAsync(SweepSql));
}

/// <summary>Payments with the processors of their 422; 0 is none. The arrays are of one length.</summary>
internal sealed record HoldArgs(Guid[] Ids, DateTime[] AcceptedAts, short[] HeldBy)
{
    /// <param name="isHeld">False: an operator has overruled the processor.</param>
    public static HoldArgs Of(Payment[] payments, bool isHeld = true) => new(
        Array.ConvertAll(payments, payment => payment.Id),
        Array.ConvertAll(payments, payment => payment.AcceptedAt),
        Array.ConvertAll(payments, payment => isHeld ? payment.HeldBy : (short)0));
}

/// <summary>Payments by acceptance time and id, both arrays of one length.</summary>
internal sealed record DoubtArgs(DateTime[] AcceptedAts, Guid[] Ids);

using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>The statements that find what an epoch has not settled, and give it to another one.</summary>
internal static class OrphanStatements
{
    /// <summary>How many payments a statement reads to find the unsettled ones.</summary>
    public const int RowsMax = 10_000;

    // Nothing is released most of the time, and adopting nothing costs more than this query.
    public const string OrphanedSql = $"""
        SELECT epoch, low_water_mark, epoch <> {Sql.Nobody} AND used_fallback AS used_fallback
        FROM leases
        WHERE closed_at IS NOT NULL AND adopted_at IS NULL
          AND (epoch <> {Sql.Nobody} OR EXISTS (SELECT FROM payments WHERE owner_epoch = {Sql.Nobody}))
        ORDER BY epoch
        """;

    // A page of an owner's payments by time, the settled ones among them: their number must not make a statement long.
    // It ends with all payments of its last time, so that the next page begins after that.
    private const string Page = """
        SELECT correlation_id, accepted_at FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark
        ORDER BY accepted_at FETCH FIRST @Rows ROWS WITH TIES
        """;

    private const string NextPage = $"""
        (SELECT CASE WHEN count(*) >= @Rows THEN max(accepted_at) + interval '1 microsecond' END FROM ({Page}) AS page)
        """;

    // One adopter at a time: two that moved the same payments in another order would deadlock. Whoever finds the lease
    // row locked gets no row at all. The owner is checked again in the UPDATE, as the snapshot may be older than the
    // claim. The adopter's own low-water mark is lowered in the same statement, or its death would leave older payments
    // unseen; an adopter that was closed meanwhile gets no row, or they would belong to an epoch that nobody searches
    // any more. A closed epoch's mark of fallback is final. What it had adopted itself keeps the doubt it came with.
    // A payment that another transaction holds must not keep the adopter's own lease, which is locked here, from its
    // renewal.
    public const string AdoptSql = $"""
        WITH claim AS (
            SELECT epoch, used_fallback FROM leases
            WHERE epoch = @Epoch AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), orphans AS (
            SELECT correlation_id, accepted_at FROM ({Page}) AS payments
            WHERE EXISTS (SELECT FROM claim) AND {PaymentStore.IsUnsettled}
            ORDER BY accepted_at LIMIT @Limit
        ), lowered AS (
            UPDATE leases SET low_water_mark = least(low_water_mark, (SELECT min(accepted_at) FROM orphans)),
                              renewal = greatest(renewal, @Number)
            WHERE epoch = @To AND closed_at IS NULL AND EXISTS (SELECT FROM claim) RETURNING epoch
        ), moved AS (
            UPDATE payments SET owner_epoch = @To, handover = CASE
                WHEN @Epoch = {Sql.Nobody} THEN greatest(handover, {Sql.Unsent})
                WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM claim) THEN {Sql.InDoubt}
                ELSE {Sql.InDoubtAtDefault} END
            WHERE correlation_id IN (SELECT correlation_id FROM orphans) AND owner_epoch = @Epoch
              AND EXISTS (SELECT 1 FROM lowered)
            RETURNING correlation_id, amount_cents, accepted_at, owner_epoch, handover
        )
        SELECT CASE WHEN (SELECT count(*) FROM orphans) = @Limit THEN (SELECT max(accepted_at) FROM orphans)
                    ELSE {NextPage} END AS next,
               moved.correlation_id, moved.amount_cents, moved.accepted_at, moved.owner_epoch, moved.handover
        FROM lowered LEFT JOIN moved ON true
        """;

    // A search ends rarely, so this statement also deletes leases that are over for good. One that still owns payments
    // stays, because a reconciliation finds payments by their owners.
    public const string MarkAdoptedSql = $"""
        WITH deleted AS (
            DELETE FROM leases
            WHERE adopted_at < now() - interval '1 day'
              AND (SELECT true FROM payments WHERE owner_epoch = leases.epoch LIMIT 1) IS NULL
        )
        UPDATE leases SET adopted_at = now()
        WHERE epoch = @Epoch AND epoch <> {Sql.Nobody} AND adopted_at IS NULL AND closed_at IS NOT NULL
          AND NOT EXISTS (
              SELECT 1 FROM payments
              WHERE owner_epoch = @Epoch AND accepted_at >= @LastPage AND {PaymentStore.IsUnsettled})
        """;

    // What is surely unsent may be adopted and sent at once, what is in doubt stays in doubt.
    public const string ReleaseSql = $"""
        WITH released AS (
            UPDATE payments
            SET owner_epoch = {Sql.Nobody}, handover = CASE
                WHEN correlation_id <> ALL(@InDoubt) THEN greatest(handover, {Sql.Unsent})
                WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM leases WHERE epoch = @Epoch)
                THEN {Sql.InDoubt}
                ELSE {Sql.InDoubtAtDefault} END
            WHERE owner_epoch = @Epoch AND correlation_id IN (
                SELECT correlation_id FROM ({Page}) AS payments WHERE {PaymentStore.IsUnsettled})
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM released) AS released, {NextPage} AS next
        """;
}

using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>
/// Deletes old settled payments from the tables of single payments; their totals stay
/// (docs/decisions/0029-retention.md). Safe from any thread, and at any number of instances at once.
/// </summary>
internal sealed class RetentionStore(SharedConnections shared)
{
    // The claim admits one instance at a time: SKIP LOCKED gives the others an empty page. Payments are locked before
    // settlements and in the order of their ids, as in every other statement; otherwise they would deadlock. A payment
    // goes only with its settlement, and a settlement only as the page read it, so a payment that is put back or parked
    // at that moment stays. No join, because a kept plan would read a whole table instead of the page. kept_from and
    // the rows change in one statement, so every snapshot that lacks a row also has the later kept_from. kept_from may
    // fall again, after clocks that were ahead, but never below a deleted payment.
    private const string RemoveSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), claim AS (
            SELECT removed_until, date_bin('1 hour', least(now(), @Now) - @Retention, 'epoch') AS due FROM ledger
            WHERE id = 1 AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), page AS (
            SELECT accepted_at, correlation_id, requested_at FROM settlements
            WHERE requested_at >= (SELECT removed_until FROM claim) AND requested_at < (SELECT due FROM claim)
            ORDER BY requested_at LIMIT @Limit
        ), held AS (
            SELECT settled.correlation_id
            FROM (SELECT accepted_at, correlation_id FROM page ORDER BY correlation_id) AS settled
            CROSS JOIN LATERAL (
                SELECT FROM payments
                WHERE payments.correlation_id = settled.correlation_id
                  AND payments.accepted_at = settled.accepted_at AND owner_epoch <> {Sql.Parked}
                LIMIT 1 FOR UPDATE) AS payment
        ), gone AS (
            DELETE FROM settlements
            WHERE requested_at >= (SELECT removed_until FROM claim)
              AND requested_at <= (SELECT max(requested_at) FROM page)
              AND correlation_id = ANY(ARRAY(SELECT correlation_id FROM held))
            RETURNING correlation_id
        ), advanced AS (
            UPDATE ledger
            SET removed_until = greatest(removed_until, (SELECT max(requested_at) FROM page)),
                kept_from = greatest((SELECT due FROM claim),
                                     date_bin('1 hour', removed_until, 'epoch') + interval '1 hour')
            WHERE id = 1 AND EXISTS (SELECT 1 FROM claim)
        )
        DELETE FROM payments WHERE correlation_id = ANY(ARRAY(SELECT correlation_id FROM gone))
        """;

    /// <summary>Deletes the oldest of the payments that are older than the retention by both clocks.</summary>
    /// <param name="now">By the clock of the instance, UTC; PostgreSQL's own is the other one.</param>
    /// <param name="retention">Counted from requestedAt; up to an hour more, as whole hours are deleted.</param>
    /// <param name="limit">The largest number of payments.</param>
    /// <returns>How many were deleted; 0 when none is due, or while another instance deletes.</returns>
    public Task<int> RemoveAsync(DateTime now, TimeSpan retention, int limit) =>
        shared.RunAsync(db => db.ExecuteAsync(
            RemoveSql, new { Now = now, Retention = retention, Limit = limit },
            commandTimeout: db.CommandTimeout));
}

using System.Data.Common;
using Dapper;
using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>
/// Old settled payments leave the tables of single payments; their totals stay
/// (docs/decisions/0029-retention.md). Safe from any thread, and at any number of instances at once.
/// </summary>
internal sealed class RetentionStore(SharedConnections connections)
{
    // Said before anything leaves, so that whoever misses a row also reads that rows are missed. Two clocks have to
    // agree that a payment is old: one that jumps ahead removes nothing.
    private const string AdvanceSql = """
        UPDATE ledger SET kept_from = date_bin('1 hour', least(now(), @Now) - @Retention, 'epoch')
        WHERE id = 1 AND kept_from < date_bin('1 hour', least(now(), @Now) - @Retention, 'epoch')
        RETURNING kept_from
        """;

    // One instance at a time: whoever finds the row of the ledger locked removes nothing. A payment is locked before
    // its settlement, as whoever corrects the ledger does it, and by its id's order. It goes only with its settlement,
    // and that one only as it was read: what was put back or parked meanwhile stays. No table is joined: of either only
    // the rows of the page are read, whatever plan is kept. A kept_from that a clock took into the future lets nothing
    // go that is younger than the least retention.
    private const string RemoveSql = $"""
        WITH claim AS (
            SELECT kept_from, removed_until FROM ledger
            WHERE id = 1 AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), page AS (
            SELECT accepted_at, correlation_id, requested_at FROM settlements
            WHERE requested_at >= (SELECT removed_until FROM claim)
              AND requested_at < (SELECT kept_from FROM claim)
              AND requested_at < now() - interval '1 day' AND accepted_at < now() - interval '1 day'
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
            UPDATE ledger SET removed_until = (SELECT max(requested_at) FROM page)
            WHERE id = 1 AND EXISTS (SELECT FROM page)
        )
        DELETE FROM payments WHERE correlation_id = ANY(ARRAY(SELECT correlation_id FROM gone))
        """;

    /// <summary>Says that settled payments may leave that were requested an hour or more before so long ago.</summary>
    /// <returns>Since when all are kept, where that is news; else null.</returns>
    public Task<KeptRow?> AdvanceAsync(KeptArgs retention) =>
        connections.RunAsync(connection => connection.QuerySingleOrDefaultAsync<KeptRow>(
            AdvanceSql, retention, commandTimeout: connection.CommandTimeout));

    /// <summary>Removes a page of what may leave, the oldest first.</summary>
    /// <returns>How many left; 0 when none is due, or another instance is at it.</returns>
    /// <exception cref="DbException">Nobody knows; repeat.</exception>
    public Task<int> RemoveAsync(int limit) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            RemoveSql, new RemoveArgs(limit), commandTimeout: connection.CommandTimeout));
}

/// <summary>How long settled payments are kept; Now is UTC, this instance's.</summary>
internal sealed record KeptArgs(DateTime Now, TimeSpan Retention);

/// <summary>UTC, a whole hour: settlements requested since then are all there.</summary>
internal sealed record KeptRow(DateTime KeptFrom);

/// <summary>So many at most.</summary>
internal sealed record RemoveArgs(int Limit);

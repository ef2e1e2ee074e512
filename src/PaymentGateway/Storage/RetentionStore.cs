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
    // A clock is the lower of the database's and an instance's, and nothing is written that is known already.
    private const string ObserveSql = """
        WITH newest AS (
            SELECT hour FROM retention_hours ORDER BY hour DESC LIMIT 1
        ), lowered AS (
            UPDATE retention_hours SET lowest = least(now(), @Now)
            WHERE hour = (SELECT hour FROM newest) AND lowest > least(now(), @Now)
        )
        SELECT coalesce((SELECT hour FROM newest), 0) AS value
        """;

    private const string BeginSql = """
        INSERT INTO retention_hours (hour, lowest) VALUES (@Hour, least(now(), @Now)) ON CONFLICT (hour) DO NOTHING
        """;

    // The minute is for payments that an instance charged after its clock had jumped back and before it said so. Where
    // fewer hours are there than are needed, nothing more leaves. After a clock that was ahead for all of them it goes
    // back, as far as nothing has left.
    private const string KeptFrom = """
        greatest(date_bin('1 hour', removed_until, 'epoch') + interval '1 hour',
                 CASE WHEN hours = @Hours THEN lowest_hour ELSE least(kept_from, lowest_hour) END)
        """;

    // Said before anything leaves, so that whoever misses a row also reads that rows are missed.
    private const string AdvanceSql = $"""
        WITH newest AS (
            SELECT max(hour) AS hour FROM retention_hours
        ), counted AS (
            SELECT count(*) AS hours,
                   date_bin('1 hour', min(lowest) - interval '1 minute', 'epoch') AS lowest_hour
            FROM retention_hours WHERE hour > (SELECT hour FROM newest) - @Hours
        ), forgotten AS (
            DELETE FROM retention_hours WHERE hour <= (SELECT hour FROM newest) - @Hours
        )
        UPDATE ledger SET kept_from = {KeptFrom} FROM counted
        WHERE id = 1 AND kept_from <> {KeptFrom}
        RETURNING kept_from
        """;

    // One instance at a time: whoever finds the row of the ledger locked removes nothing. A payment is locked before
    // its settlement, as whoever corrects the ledger does it, and by its id's order. It goes only with its settlement,
    // and that one only as it was read: what was put back or parked meanwhile stays. No table is joined: of either only
    // the rows of the page are read, whatever plan is kept. Nothing goes that was requested at a time which any clock
    // has said since those hours began, whatever kept_from says.
    private const string RemoveSql = $"""
        WITH locked_first AS (SELECT FROM payments), claim AS (
            SELECT kept_from, removed_until FROM ledger
            WHERE id = 1 AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), page AS (
            SELECT accepted_at, correlation_id, requested_at FROM settlements
            WHERE requested_at >= (SELECT removed_until FROM claim)
              AND requested_at < (SELECT kept_from FROM claim)
              AND requested_at < (SELECT min(lowest) FROM retention_hours)
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

    /// <summary>Has the newest hour know what this clock says.</summary>
    /// <returns>That hour's number; 0 where there is none.</returns>
    public async Task<long> ObserveAsync(ClockArgs clock) =>
        (await connections.RunAsync(connection => connection.QuerySingleAsync<CountRow>(
            ObserveSql, clock, commandTimeout: connection.CommandTimeout))).Value;

    /// <summary>Begins an hour, unless another instance has.</summary>
    public Task BeginAsync(HourArgs hour) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            BeginSql, hour, commandTimeout: connection.CommandTimeout));

    /// <summary>Says which settled payments may leave by the hours that have passed.</summary>
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

/// <summary>What the clock of an instance says, UTC.</summary>
internal sealed record ClockArgs(DateTime Now);

/// <summary>An hour that begins, and what the clock of an instance says then, UTC.</summary>
internal sealed record HourArgs(long Hour, DateTime Now);

/// <summary>So many hours have to be there before anything may leave.</summary>
internal sealed record KeptArgs(int Hours)
{
    // The retention lies between the beginnings of one more; and before the first of these each clock has been looked
    // at, as it is in each hour.
    private const int Beside = 2;

    public static KeptArgs Of(TimeSpan retention) => new((int)Math.Ceiling(retention.TotalHours) + Beside);
}

/// <summary>UTC, a whole hour: settlements requested since then are all there.</summary>
internal sealed record KeptRow(DateTime KeptFrom);

/// <summary>So many at most.</summary>
internal sealed record RemoveArgs(int Limit);

using System.Data.Common;
using Dapper;
using Npgsql;
using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>
/// Corrects single payments of the ledger after what the processors have. Each correction is one statement that takes
/// effect only where the ledger still is as it was read, and brings the totals along.
/// </summary>
/// <remarks>
/// Totals of corrections are those of epoch 0, beside what an instance settles while it has lost its lease: one waits
/// for the other's statement at most, as both take the rows in the same order. Payments are locked before settlements,
/// as a purge does; a purge that came first has left nothing to correct, and another generation. Each settlement is in
/// the totals once, by its own record or by that of its first acceptance, so what is corrected is subtracted.
/// </remarks>
internal static class LedgerCorrections
{
    private const string IsSameLedger = "(SELECT generation FROM ledger WHERE id = 1) = @Generation";

    private const string IsAsRead = """
        accepted_at = @AcceptedAt AND correlation_id = @Id AND processor = @WasProcessor
          AND amount_cents = @WasCents AND requested_at = @WasRequestedAt
        """;

    // The rows of changes: processor, requested_at, requests, cents.
    private const string AddTotals = $"""
        INSERT INTO settlement_totals AS totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
        SELECT width_seconds, date_bin(width, requested_at, 'epoch'), processor, {Sql.Nobody}, sum(requests), sum(cents)
        FROM changes, (VALUES (5, interval '5 seconds'), (3600, interval '1 hour')) AS widths (width_seconds, width)
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        ON CONFLICT (width_seconds, bucket, processor, epoch) DO UPDATE
        SET requests = totals.requests + excluded.requests,
            amount_cents = totals.amount_cents + excluded.amount_cents
        """;

    // By the same key as an owner that settles it at this moment: one of the two enters.
    private const string RecordSql = $"""
        WITH locked_first AS (SELECT FROM payments), recorded AS (
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at, attempts)
            SELECT correlation_id, accepted_at, @Processor, @AmountCents, @RequestedAt, attempts FROM payments
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND {IsSameLedger}
            ON CONFLICT (accepted_at, correlation_id) DO NOTHING
            RETURNING processor, requested_at, amount_cents, accepted_at
        ), unparked AS (
            UPDATE payments SET owner_epoch = @OwnerEpoch, parked_reason = NULL, parked_at = NULL
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = {Sql.Parked}
              AND EXISTS (SELECT FROM recorded)
        ), changes AS (
            SELECT processor, requested_at, 1 AS requests, amount_cents AS cents FROM recorded
            WHERE {SettlementLedger.IsUncounted}
        ), added AS ({AddTotals})
        SELECT count(*) AS value FROM recorded
        """;

    private const string CorrectSql = $"""
        WITH locked_first AS (SELECT FROM payments), corrected AS (
            UPDATE settlements
            SET processor = @Processor, amount_cents = @AmountCents, requested_at = @RequestedAt
            WHERE {IsAsRead} AND {IsSameLedger}
            RETURNING processor, requested_at, amount_cents
        ), changes AS (
            SELECT processor, requested_at, 1 AS requests, amount_cents AS cents FROM corrected
            UNION ALL SELECT @WasProcessor, @WasRequestedAt, -1, -@WasCents FROM corrected
        ), added AS ({AddTotals})
        SELECT count(*) AS value FROM corrected
        """;

    // An open epoch whose low-water mark is not past it may have it in memory, in doubt, and would charge it beside
    // whoever adopts it now (docs/decisions/0027-reconciliation.md). An adopter that has the row locked is waited for,
    // and the owner is compared again then: so the payment comes first, and the settlement goes only with it.
    private const string PutBackSql = $"""
        WITH released AS (
            UPDATE payments SET owner_epoch = {Sql.Nobody}, handover = {Sql.InDoubt}, parked_reason = NULL,
                                parked_at = NULL, attempts = NULL
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = @WasOwner AND {IsSameLedger}
              AND NOT EXISTS (
                SELECT FROM leases
                WHERE epoch = @WasOwner AND closed_at IS NULL AND low_water_mark <= @AcceptedAt)
              AND EXISTS (SELECT FROM settlements WHERE {IsAsRead})
            RETURNING correlation_id
        ), removed AS (
            DELETE FROM settlements WHERE {IsAsRead} AND EXISTS (SELECT FROM released)
            RETURNING processor, requested_at, amount_cents
        ), changes AS (
            SELECT processor, requested_at, -1 AS requests, -amount_cents AS cents FROM removed
        ), added AS ({AddTotals})
        SELECT count(*) AS value FROM removed
        """;

    /// <summary>Records a payment as settled where a processor has it.</summary>
    /// <returns>False when it is settled by now, or purged.</returns>
    /// <exception cref="DbException">Nobody knows.</exception>
    public static async Task<bool> RecordAsync(NpgsqlConnection connection, RecordHeldArgs held) =>
        (await RowReading.RunAsync(() => connection.QuerySingleAsync<CountRow>(
            RecordSql, held, commandTimeout: connection.CommandTimeout))).Value == 1;

    /// <summary>Has a settlement say what its processor says.</summary>
    /// <returns>False when it is another one by now, or purged.</returns>
    /// <exception cref="DbException">Nobody knows.</exception>
    public static async Task<bool> CorrectAsync(NpgsqlConnection connection, CorrectArgs settlement) =>
        (await RowReading.RunAsync(() => connection.QuerySingleAsync<CountRow>(
            CorrectSql, settlement, commandTimeout: connection.CommandTimeout))).Value == 1;

    /// <summary>
    /// Takes a settlement out and gives the payment to whoever adopts it, in doubt at both processors.
    /// </summary>
    /// <returns>False when it is another one by now, or purged, or an instance may have it in memory.</returns>
    /// <exception cref="DbException">Nobody knows.</exception>
    public static async Task<bool> PutBackAsync(NpgsqlConnection connection, PutBackArgs settlement) =>
        (await RowReading.RunAsync(() => connection.QuerySingleAsync<CountRow>(
            PutBackSql, settlement, commandTimeout: connection.CommandTimeout))).Value == 1;
}

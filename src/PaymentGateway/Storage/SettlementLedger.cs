namespace PaymentGateway.Storage;

/// <summary>
/// The settlements and their totals in PostgreSQL. Every statement locks payments, then settlements,
/// then settlement_totals, then payment_events, as a purge does; otherwise they would deadlock.
/// </summary>
internal sealed class SettlementLedger(SharedConnections shared, BatchConnections batches)
{
    /// <summary>
    /// An outcome that the totals do not have. A payment that was charged long before its acceptance, in a time whose
    /// payments are deleted, was deleted and posted again: the totals have it (docs/decisions/0029-retention.md).
    /// </summary>
    public const string IsUncounted = """
        (requested_at >= accepted_at - interval '1 hour'
          OR requested_at > (SELECT removed_until FROM ledger WHERE id = 1)
          OR requested_at < (SELECT began_at FROM ledger WHERE id = 1))
        """;

    /// <summary>Adds the rows of changes (processor, requested_at, requests, cents) to the totals of Epoch.</summary>
    public const string AddTotals = """
        INSERT INTO settlement_totals AS totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
        SELECT width_seconds, date_bin(width, requested_at, 'epoch'), processor, @Epoch, sum(requests), sum(cents)
        FROM changes, (VALUES (5, interval '5 seconds'), (3600, interval '1 hour')) AS widths (width_seconds, width)
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        ON CONFLICT (width_seconds, bucket, processor, epoch) DO UPDATE
        SET requests = totals.requests + excluded.requests,
            amount_cents = totals.amount_cents + excluded.amount_cents
        """;

    // Looks payments up by id, because the kept plan of a join with the outcomes may scan the table. An outcome without
    // its payment, or with one of another acceptance, was purged. Where nothing is new, nothing is written.
    private const string RecordSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), known AS (
            SELECT outcome.*
            FROM unnest(@Ids, @Processors, @AmountsCents, @RequestedAts, @AcceptedAts, @Attempts)
              AS outcome (correlation_id, processor, amount_cents, requested_at, accepted_at, attempts)
            WHERE (accepted_at, correlation_id) IN (
                SELECT accepted_at, correlation_id FROM payments WHERE correlation_id = ANY(@Ids))
        ), recorded AS (
            INSERT INTO settlements
                (correlation_id, accepted_at, processor, amount_cents, requested_at, attempts, recorded_by)
            SELECT correlation_id, accepted_at, processor, amount_cents, requested_at, nullif(attempts, -1),
                   {EventStore.OwnPosition} FROM known
            ON CONFLICT (accepted_at, correlation_id) DO NOTHING
            RETURNING processor, requested_at, amount_cents, accepted_at
        ), changes AS (
            SELECT processor, requested_at, 1 AS requests, amount_cents AS cents FROM recorded WHERE {IsUncounted}
        ), added AS ({AddTotals})
        SELECT count(*) FROM known WHERE EXISTS (SELECT 1 FROM recorded) OR {MultiHost.IsCommitted}
        """;

    // By the totals, because the settlements of a processor that is rarely used lie far apart.
    private const string KnownSql = """
        WITH newest AS (
            SELECT max(bucket) AS bucket FROM settlement_totals
            WHERE width_seconds = 5 AND processor = @Processor AND requests > 0 AND bucket <= @Before
              AND bucket >= (SELECT max(bucket) FROM settlement_totals
                             WHERE width_seconds = 3600 AND processor = @Processor AND requests > 0
                               AND bucket <= @Before)
        )
        SELECT correlation_id, requested_at FROM settlements
        WHERE requested_at >= (SELECT bucket FROM newest) AND requested_at <= @Before
          AND requested_at < (SELECT bucket + interval '5 seconds' FROM newest) AND processor = @Processor
        ORDER BY requested_at DESC LIMIT 1
        """;

    /// <summary>Records outcomes; one that is in the ledger changes nothing, and a purged one is left out.</summary>
    /// <returns>How many are in the ledger now.</returns>
    /// <exception cref="DbException">The outcome is unknown; repeat.</exception>
    public Task<long> RecordAsync(RecordArgs batch) =>
        batches.RunAsync(db => db.QuerySingleAsync<long>(RecordSql, batch));

    /// <summary>The newest payment that a processor had charged by then; null where the ledger keeps none.</summary>
    /// <param name="processor">Its number.</param>
    /// <param name="before">UTC.</param>
    public Task<KnownRow?> FindKnownAsync(int processor, DateTime before) =>
        shared.RunAsync(db => db.QuerySingleOrDefaultAsync<KnownRow>(
            KnownSql, new { Processor = processor, Before = before }));
}

/// <summary>Outcomes, sorted by id; Attempts are -1 where unknown.</summary>
internal sealed record RecordArgs(
    Guid[] Ids, short[] Processors, long[] AmountsCents, DateTime[] RequestedAts, DateTime[] AcceptedAts,
    short[] Attempts, int Epoch);

/// <summary>A payment that a processor had charged; RequestedAt is UTC.</summary>
internal sealed record KnownRow(Guid CorrelationId, DateTime RequestedAt);

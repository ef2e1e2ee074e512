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

    // A row without a name says that payments of a raw part are deleted in this snapshot.
    private const string SummariseSql = """
        SELECT (SELECT name FROM processors WHERE id = parts.processor) AS processor,
               sum(requests)::bigint AS requests, sum(amount_cents) AS amount_cents FROM (
            SELECT processor, count(*) AS requests, sum(amount_cents) AS amount_cents FROM settlements
            WHERE requested_at >= @From AND requested_at < @HeadEnd GROUP BY processor
            UNION ALL
            SELECT processor, count(*), sum(amount_cents) FROM settlements
            WHERE requested_at >= @TailStart AND requested_at <= @To GROUP BY processor
            UNION ALL
            SELECT processor, sum(requests), sum(amount_cents) FROM settlement_totals
            WHERE width_seconds = 5 AND bucket >= @HeadEnd AND bucket < @HoursFrom GROUP BY processor
            UNION ALL
            SELECT processor, sum(requests), sum(amount_cents) FROM settlement_totals
            WHERE width_seconds = 3600 AND bucket >= @HoursFrom AND bucket < @HoursTo GROUP BY processor
            UNION ALL
            SELECT processor, sum(requests), sum(amount_cents) FROM settlement_totals
            WHERE width_seconds = 5 AND bucket >= @HoursTo AND bucket < @TailStart GROUP BY processor
            UNION ALL
            SELECT 0, 1, 0 FROM ledger WHERE id = 1 AND kept_from > @FirstRaw
        ) AS parts GROUP BY parts.processor
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

    /// <summary>Sums a window on one snapshot. Both bounds are inclusive; null is unbounded.</summary>
    /// <returns>No row for a processor that has charged nothing.</returns>
    /// <exception cref="NotKeptException">Payments at an end of the window are deleted.</exception>
    public Task<List<TotalsRow>> SumAsync(DateTime? from, DateTime? to) => SumAsync(shared, from, to);

    /// <inheritdoc cref="SumAsync(DateTime?, DateTime?)"/>
    public static async Task<List<TotalsRow>> SumAsync(Db ledger, DateTime? from, DateTime? to)
    {
        var window = SummaryArgs.Of(from, to);
        var rows = await ledger.ListAsync(db => db.QueryAsync<TotalsRow>(SummariseSql, window));
        return rows.Exists(row => row.Processor is null) ? throw window.NotKept() : rows;
    }
}

/// <summary>Outcomes, sorted by id; Attempts are -1 where unknown.</summary>
internal sealed record RecordArgs(
    Guid[] Ids, short[] Processors, long[] AmountsCents, DateTime[] RequestedAts, DateTime[] AcceptedAts,
    short[] Attempts, int Epoch);

/// <summary>
/// The parts of a window: raw rows, buckets of 5 s, buckets of an hour, buckets of 5 s, raw rows up to To inclusive.
/// </summary>
internal sealed record SummaryArgs(
    DateTime From, DateTime HeadEnd, DateTime HoursFrom, DateTime HoursTo, DateTime TailStart, DateTime To)
{
    /// <summary>The first time whose raw rows are read; Latest when none are.</summary>
    public DateTime FirstRaw => From < HeadEnd ? From : TailStart <= To ? TailStart : Latest;

    // The statements name the widths too.
    private static readonly TimeSpan Bucket = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan WideBucket = TimeSpan.FromHours(1);
    private static readonly TimeSpan Instant = TimeSpan.FromMicroseconds(1);

    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);
    private static readonly DateTime Latest = DateTime.SpecifyKind(DateTime.MaxValue, DateTimeKind.Utc);

    public static SummaryArgs Of(DateTime? from, DateTime? to)
    {
        // The ends of DateTime are sent as -infinity and infinity, so that side has no edge.
        var first = from ?? Earliest;
        var last = to ?? Latest;
        // The bound is inclusive, so the last microsecond of a bucket includes the whole bucket.
        var end = to is null || last > Latest - Instant ? last : last + Instant;
        var (headEnd, tailStart) = Whole(Bucket, first, from is null, end, to is null) ?? (first, first);
        var (hoursFrom, hoursTo) =
            Whole(WideBucket, headEnd, from is null, tailStart, to is null) ?? (tailStart, tailStart);
        return new SummaryArgs(first, headEnd, hoursFrom, hoursTo, tailStart, last);
    }

    public NotKeptException NotKept() => Floor(From, Bucket) is var from && from != From
        ? new NotKeptException("from", from)
        : new NotKeptException("to", Floor(To, Bucket) + Bucket - Instant);

    /// <summary>The whole buckets from one time to before another; null when there is none.</summary>
    private static (DateTime From, DateTime To)? Whole(
        TimeSpan width, DateTime first, bool fromEver, DateTime last, bool forEver)
    {
        var from = fromEver ? first : Ceil(first, width);
        var to = forEver ? last : Floor(last, width);
        return from < to ? (from, to) : null;
    }

    // Buckets count from the year 1; the statements' epoch is whole days later, so both agree.
    private static DateTime Floor(DateTime utc, TimeSpan width) => utc.AddTicks(-(utc.Ticks % width.Ticks));

    private static DateTime Ceil(DateTime utc, TimeSpan width)
    {
        var floor = Floor(utc, width);
        return floor == utc ? utc : floor > Latest - width ? Latest : floor + width;
    }
}

/// <summary>A payment that a processor had charged; RequestedAt is UTC.</summary>
internal sealed record KnownRow(Guid CorrelationId, DateTime RequestedAt);

internal sealed record TotalsRow(string? Processor, long Requests, decimal AmountCents);

/// <summary>
/// A window that cannot be summed up: it begins or ends within a bucket whose payments are deleted, and the totals have
/// whole buckets only. The message goes to the client.
/// </summary>
/// <param name="bound">Which end of the window, as the wire calls it.</param>
/// <param name="nearest">The nearest bound that can be summed up, UTC.</param>
internal sealed class NotKeptException(string bound, DateTime nearest) : Exception(string.Create(
    CultureInfo.InvariantCulture,
    $"{bound} is among payments that have left the ledger, and only sums of 5 seconds are kept of these. It may be "
    + $"{nearest:yyyy-MM-dd'T'HH:mm:ss.FFFFFF'Z'}."))
{
    public string Bound => bound;
}

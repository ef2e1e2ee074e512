using System.Data.Common;
using Npgsql;
using PaymentGateway.Summarising;

namespace PaymentGateway.Recording;

/// <summary>The settlements and their totals in PostgreSQL. All instances write to and read from the same.</summary>
/// <remarks>
/// Every statement locks payments, then settlements, then settlement_totals, as a purge does, or they would deadlock.
/// </remarks>
internal sealed class SettlementLedger(
    NpgsqlDataSource ledger, [FromKeyedServices(LedgerSetup.Batches)] NpgsqlDataSource batches)
{
    // The payment is looked up by a scalar subquery because a join may be planned as a scan of the whole table
    // while that is still small, and the plan is kept. No payment, or one of another acceptance: it was purged.
    private const string RecordSql = """
        WITH locked_first AS (SELECT FROM payments), recorded AS (
            INSERT INTO settlements (correlation_id, processor, amount_cents, requested_at)
            SELECT outcome.correlation_id, outcome.processor, outcome.amount_cents, outcome.requested_at
            FROM unnest(@Ids, @Processors, @AmountsCents, @RequestedAts, @AcceptedAts)
              AS outcome (correlation_id, processor, amount_cents, requested_at, accepted_at)
            WHERE outcome.accepted_at = (
                SELECT accepted_at FROM payments WHERE payments.correlation_id = outcome.correlation_id)
            ON CONFLICT (correlation_id) DO NOTHING
            RETURNING processor, requested_at, amount_cents
        ), added AS (
            INSERT INTO settlement_totals AS totals (processor, bucket, instance, requests, amount_cents)
            SELECT processor, date_bin('5 seconds', requested_at, 'epoch'), @Instance, count(*), sum(amount_cents)
            FROM recorded GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (processor, bucket, instance) DO UPDATE
            SET requests = totals.requests + excluded.requests,
                amount_cents = totals.amount_cents + excluded.amount_cents
        )
        SELECT count(*) AS value FROM recorded
        """;

    private const string SummariseSql = """
        SELECT processor, sum(requests)::bigint AS requests, sum(amount_cents) AS amount_cents FROM (
            SELECT processor, count(*) AS requests, sum(amount_cents) AS amount_cents FROM settlements
            WHERE requested_at >= @From AND requested_at < @HeadEnd GROUP BY processor
            UNION ALL
            SELECT processor, count(*), sum(amount_cents) FROM settlements
            WHERE requested_at >= @TailStart AND requested_at <= @To GROUP BY processor
            UNION ALL
            SELECT processor, sum(requests), sum(amount_cents) FROM settlement_totals
            WHERE bucket >= @HeadEnd AND bucket < @TailStart GROUP BY processor
        ) AS parts GROUP BY processor
        """;

    /// <summary>The width of a bucket; the statement above names it too.</summary>
    public static readonly TimeSpan Bucket = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Records a batch once: what is in the books already, or was purged, is left out. Repeat it freely.
    /// </summary>
    /// <returns>How many entered the books now.</returns>
    /// <exception cref="DbException">Nobody knows; repeat.</exception>
    public async Task<long> RecordAsync(RecordArgs batch)
    {
        await using var connection = batches.CreateConnection();
        return (await connection.QuerySingleAsync<CountRow>(RecordSql, batch)).Value;
    }

    /// <summary>
    /// Sums a window in one statement, so on one snapshot. Both bounds are inclusive; absent is unbounded.
    /// </summary>
    public async Task<PaymentsSummary> SummariseAsync(DateTime? from, DateTime? to)
    {
        await using var connection = ledger.CreateConnection();
        var rows = (await connection.QueryAsync<TotalsRow>(SummariseSql, SummaryArgs.Of(from, to))).AsList();
        var byDefault = rows.Find(row => row.Processor == (short)Processor.Default);
        var byFallback = rows.Find(row => row.Processor == (short)Processor.Fallback);
        return new PaymentsSummary(ToTotals(byDefault), ToTotals(byFallback));
    }

    private static ProcessorTotals ToTotals(TotalsRow? row) =>
        row is null
            ? new ProcessorTotals(0, 0.00m)
            : new ProcessorTotals(row.Requests, Money.FromCents(row.AmountCents));
}

/// <summary>Outcomes to record, all arrays of one length, sorted by id.</summary>
internal sealed record RecordArgs(
    Guid[] Ids, short[] Processors, long[] AmountsCents, DateTime[] RequestedAts, DateTime[] AcceptedAts, int Instance)
    : ISqlArgs
{
    public void AddTo(NpgsqlParameterCollection parameters)
    {
        parameters.Add(new NpgsqlParameter<Guid[]>(nameof(Ids), Ids));
        parameters.Add(new NpgsqlParameter<short[]>(nameof(Processors), Processors));
        parameters.Add(new NpgsqlParameter<long[]>(nameof(AmountsCents), AmountsCents));
        parameters.Add(new NpgsqlParameter<DateTime[]>(nameof(RequestedAts), RequestedAts));
        parameters.Add(new NpgsqlParameter<DateTime[]>(nameof(AcceptedAts), AcceptedAts));
        parameters.Add(new NpgsqlParameter<int>(nameof(Instance), Instance));
    }
}

/// <summary>
/// The three parts of a window: raw rows from From to before HeadEnd, whole buckets from there to before
/// TailStart, raw rows from there to To.
/// </summary>
internal sealed record SummaryArgs(DateTime From, DateTime HeadEnd, DateTime TailStart, DateTime To) : ISqlArgs
{
    public void AddTo(NpgsqlParameterCollection parameters)
    {
        parameters.Add(new NpgsqlParameter<DateTime>(nameof(From), From));
        parameters.Add(new NpgsqlParameter<DateTime>(nameof(HeadEnd), HeadEnd));
        parameters.Add(new NpgsqlParameter<DateTime>(nameof(TailStart), TailStart));
        parameters.Add(new NpgsqlParameter<DateTime>(nameof(To), To));
    }

    public static SummaryArgs Of(DateTime? from, DateTime? to)
    {
        // The ends of DateTime travel as -infinity and infinity: then there is no raw edge on that side.
        var first = from ?? Earliest;
        var last = to ?? Latest;
        var headEnd = from is null ? Earliest : CeilToBucket(first);
        var tailStart = to is null ? Latest : FloorToBucket(last);
        return headEnd < tailStart
            ? new SummaryArgs(first, headEnd, tailStart, last)
            : new SummaryArgs(first, first, first, last);
    }

    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);
    private static readonly DateTime Latest = DateTime.SpecifyKind(DateTime.MaxValue, DateTimeKind.Utc);

    private static DateTime FloorToBucket(DateTime utc)
    {
        var past = (utc - DateTime.UnixEpoch).Ticks % SettlementLedger.Bucket.Ticks;
        return utc.AddTicks(past < 0 ? -past - SettlementLedger.Bucket.Ticks : -past);
    }

    private static DateTime CeilToBucket(DateTime utc)
    {
        var floor = FloorToBucket(utc);
        return floor == utc || floor > Latest - SettlementLedger.Bucket ? floor : floor + SettlementLedger.Bucket;
    }
}

/// <summary>A single number.</summary>
internal sealed record CountRow(long Value) : ISqlRow<CountRow>
{
    public static CountRow Read(DbDataReader row) => new(row.GetInt64(0));
}

/// <summary>What one processor has charged in a window.</summary>
internal sealed record TotalsRow(short Processor, long Requests, decimal AmountCents) : ISqlRow<TotalsRow>
{
    public static TotalsRow Read(DbDataReader row) => new(row.GetInt16(0), row.GetInt64(1), row.GetDecimal(2));
}

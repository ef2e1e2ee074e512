namespace PaymentGateway.Storage;

/// <summary>Sums of the settlements, by their totals and by the raw rows at the edges of a window.</summary>
internal sealed class SummaryStore(SharedConnections shared)
{
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

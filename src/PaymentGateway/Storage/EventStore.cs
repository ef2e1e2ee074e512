namespace PaymentGateway.Storage;

/// <summary>The feed of events, in the order of the transactions that recorded them. Safe from any thread.</summary>
internal sealed class EventStore(SharedConnections shared)
{
    /// <summary>What every INSERT of an event names as recorded_by, so that positions outlive the server.</summary>
    public const string OwnPosition = "(SELECT event_position(pg_current_xact_id()))";

    // Every transaction with an earlier position has ended.
    private const string Running = "(SELECT event_position(pg_snapshot_xmin(pg_current_snapshot())))";

    // Only ended transactions, because rows of a later one may still be invisible
    // (docs/decisions/0031-events-by-transaction.md). Rows up to forgotten_by are left out: retention may keep some,
    // but a page of them would have no next one. Rows after a crash that is not marked yet have no position, and are
    // left out too. Transactions are read whole, because an order by id as well may sort all that follow.
    private const string InPage = $"""
        WHERE recorded_by >= @Transaction::xid8 AND (recorded_by, correlation_id) > (@Transaction::xid8, @Id)
          AND recorded_by > (SELECT forgotten_by FROM ledger WHERE id = 1)
          AND recorded_by < {Running} AND EXISTS (SELECT 1 FROM ledger_intact)
        ORDER BY recorded_by FETCH FIRST @Limit ROWS WITH TIES
        """;

    // A subquery of the whole key, because a store of several servers joins no page.
    private const string PayerOf = """
        (SELECT (SELECT name FROM payers WHERE id = payer) FROM payments
         WHERE payments.accepted_at = told.accepted_at AND payments.correlation_id = told.correlation_id) AS payer
        """;

    // The last row has no kind: every transaction before its own has ended.
    private const string PageSql = $"""
        SELECT page.recorded_by::text::bigint AS transaction, kind, correlation_id, accepted_at, amount_cents,
               (SELECT name FROM processors WHERE id = page.processor) AS processor, requested_at, reason, occurred_at,
               payer, generation, resets, forgotten_by::text::bigint AS forgotten_by
        FROM (
            (SELECT recorded_by, correlation_id, 'settled' AS kind, accepted_at, amount_cents, processor, requested_at,
                    NULL::text AS reason, requested_at AS occurred_at, {PayerOf}
             FROM settlements AS told {InPage})
            UNION ALL
            (SELECT recorded_by, correlation_id, kind, accepted_at, amount_cents, processor, requested_at, reason,
                    occurred_at, {PayerOf}
             FROM payment_events AS told {InPage})
            UNION ALL
            SELECT {Running}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        ) AS page, ledger
        WHERE ledger.id = 1
        ORDER BY page.recorded_by, correlation_id
        """;

    // Whether its transaction has ended before all others or not: what stops the feed shows. A position of an earlier
    // ledger is before the first event.
    private const string FirstAfter = """
        WHERE (recorded_by, correlation_id) > ((
                SELECT CASE WHEN (generation, resets) = (@Generation, @Resets) THEN @Transaction ELSE '0' END::xid8
                FROM ledger WHERE id = 1), @Id)
          AND recorded_by > (SELECT forgotten_by FROM ledger WHERE id = 1)
        ORDER BY recorded_by LIMIT 1
        """;

    private const string AgeSql = $"""
        SELECT extract(epoch FROM now() - min(at))::float8 AS age FROM (
            (SELECT greatest(recorded_at, requested_at) AS at FROM settlements {FirstAfter})
            UNION ALL
            (SELECT greatest(recorded_at, occurred_at) FROM payment_events {FirstAfter})) AS firsts
        """;

    // What the server's ids of transactions mean for the feed (postgres/migrations).
    private const string MoveOnSql = "SELECT move_positions_on(@Restored)";

    /// <summary>Moves the positions of events on, where the ledger is restored or on another server.</summary>
    public static Task MoveOnAsync(Db ledger, bool restored) =>
        ledger.RunAsync(db => db.ExecuteAsync(MoveOnSql, new { Restored = restored }));

    /// <summary>Seconds since the first event after a position was recorded; 0 where there is none.</summary>
    public async Task<double> AgeAsync(EventCursor? after) => Math.Max(0, await shared.RunAsync(
        db => db.QuerySingleAsync<double?>(
            AgeSql,
            new
            {
                Generation = after?.Generation ?? 0,
                Resets = after?.Resets ?? 0,
                Transaction = $"{after?.Transaction ?? 0}",
                Id = after?.Id ?? Guid.Empty,
            })) ?? 0);

    /// <summary>A page of the events after a position; null is the first one.</summary>
    /// <returns>Null when events after the position were deleted.</returns>
    public async Task<EventPage?> PageAsync(EventCursor? after, int limit)
    {
        var rows = await shared.ListAsync(db => db.QueryAsync<EventRow>(
            PageSql, new { Transaction = $"{after?.Transaction ?? 0}", Id = after?.Id ?? Guid.Empty, Limit = limit }));
        var end = rows[^1];
        if (after is not null && ((after.Generation, after.Resets) != (end.Generation, end.Resets)
            || after.Transaction < end.ForgottenBy
            || (after.Transaction == end.ForgottenBy && after.Id != EventCursor.IdMax)))
            return null;

        rows.RemoveAt(rows.Count - 1);
        if (rows.Count < limit || rows.Count == 0)
            return new EventPage(rows, end.Cursor with
            {
                Transaction = Math.Max(end.Transaction - 1, end.ForgottenBy),
                Id = EventCursor.IdMax,
            });

        rows.RemoveRange(limit, rows.Count - limit);
        return new EventPage(rows, rows[^1].Cursor);
    }
}

/// <summary>
/// A position in the feed. Generation and Resets name the ledger; Transaction counts on from server to server.
/// </summary>
internal sealed record EventCursor(int Generation, int Resets, long Transaction, Guid Id)
{
    public static readonly Guid IdMax = new("ffffffff-ffff-ffff-ffff-ffffffffffff");

    public override string ToString() => $"{Generation}-{Resets}-{Transaction}-{Id:N}";

    /// <returns>Null when the text is no cursor.</returns>
    public static EventCursor? TryRead(string text) =>
        text.Split('-') is [var generation, var resets, var transaction, var id]
        && int.TryParse(generation, NumberStyles.None, CultureInfo.InvariantCulture, out var generationRead)
        && int.TryParse(resets, NumberStyles.None, CultureInfo.InvariantCulture, out var resetsRead)
        && long.TryParse(transaction, NumberStyles.None, CultureInfo.InvariantCulture, out var transactionRead)
        && Guid.TryParseExact(id, "N", out var idRead)
            ? new EventCursor(generationRead, resetsRead, transactionRead, idRead)
            : null;
}

/// <summary>Events in order, and the position after them, which advances without events too.</summary>
internal sealed record EventPage(List<EventRow> Events, EventCursor Next);

/// <summary>An event, or the end of the feed, which has no Kind. Times are UTC.</summary>
internal sealed record EventRow(
    long Transaction, string? Kind, Guid? CorrelationId, DateTime? AcceptedAt, long? AmountCents, string? Processor,
    DateTime? RequestedAt, string? Reason, DateTime? OccurredAt, string? Payer, int Generation, int Resets,
    long ForgottenBy)
{
    public EventCursor Cursor => new(Generation, Resets, Transaction, CorrelationId ?? Guid.Empty);
}

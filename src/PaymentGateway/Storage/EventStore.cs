namespace PaymentGateway.Storage;

/// <summary>The feed of events, in the order of the transactions that recorded them. Safe from any thread.</summary>
internal sealed class EventStore(SharedConnections shared)
{
    /// <summary>What every INSERT of an event names as recorded_by, so that positions outlive the server.</summary>
    public const string OwnPosition =
        "(SELECT (pg_current_xact_id()::text::bigint + position_offset)::text::xid8 FROM ledger WHERE id = 1)";

    // The payers of a whole page at once, because several servers look nothing up for the rows of a function.
    private const string PageSql = """
        WITH page AS MATERIALIZED (
            SELECT recorded_by, kind, correlation_id, accepted_at, amount_cents, processor, requested_at, reason,
                   occurred_at, generation, resets, forgotten_by
            FROM list_events(@Transaction::xid8, @Id, @Limit)
        ), paid AS MATERIALIZED (
            SELECT correlation_id, accepted_at, payer FROM payments
            WHERE correlation_id = ANY(ARRAY(SELECT correlation_id FROM page)) AND payer IS NOT NULL
        )
        SELECT recorded_by::text::bigint AS transaction, kind, page.correlation_id, page.accepted_at, amount_cents,
               (SELECT name FROM processors WHERE id = page.processor) AS processor, requested_at, reason, occurred_at,
               (SELECT name FROM payers WHERE id = paid.payer) AS payer, generation, resets,
               forgotten_by::text::bigint AS forgotten_by
        FROM page LEFT JOIN paid
          ON paid.correlation_id = page.correlation_id AND paid.accepted_at = page.accepted_at
        ORDER BY recorded_by, page.correlation_id
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

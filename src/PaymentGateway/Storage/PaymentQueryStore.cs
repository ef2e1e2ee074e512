using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>
/// Single payments with their state, one or a page of them, newest first. A page needs no index of its own: settled
/// payments are found by the key of settlements, the others by their owners' index. Every statement locks payments
/// before settlements, as a purge does.
/// </summary>
internal sealed class PaymentQueryStore(SharedConnections shared)
{
    private const string DoubtOfPayment = """
        (SELECT in_doubt_at FROM doubts WHERE doubts.accepted_at = payments.accepted_at
           AND doubts.correlation_id = payments.correlation_id) AS in_doubt_at
        """;

    // LIMIT keeps each of these laterals a look-up for one row: a join may be planned as a scan of the whole table.
    private const string Settlement = """
        LEFT JOIN LATERAL (
            SELECT processor, amount_cents, requested_at, attempts FROM settlements
            WHERE settlements.accepted_at = payments.accepted_at
              AND settlements.correlation_id = payments.correlation_id LIMIT 1) AS settlement ON true
        """;

    private const string WithSettlement = $"""
        payments.correlation_id, payments.accepted_at,
        coalesce(settlement.amount_cents, payments.amount_cents) AS amount_cents, owner_epoch,
        (SELECT name FROM processors WHERE id = settlement.processor) AS processor, settlement.requested_at,
        coalesce(settlement.attempts, payments.attempts) AS attempts, {DoubtOfPayment}, parked_at, parked_reason
        """;

    private const string InWindow =
        "accepted_at >= @From AND (accepted_at, correlation_id) < (@BeforeAt, @BeforeId)";

    // The owners of unsettled payments; by the key of leases.
    private const string Owners =
        "SELECT epoch, low_water_mark FROM leases WHERE epoch >= 0 AND adopted_at IS NULL";

    // The order of the owners' index, otherwise a page would sort a whole backlog. Ids of one microsecond are put in
    // order afterwards.
    private const string Newest = "ORDER BY accepted_at DESC FETCH FIRST (@Limit) ROWS WITH TIES";

    private const string NewestFirst = "ORDER BY accepted_at DESC, correlation_id DESC LIMIT @Limit";

    public const string FindSql = $"""
        SELECT {WithSettlement} FROM payments {Settlement} WHERE payments.correlation_id = @Id
        """;

    private const string SettledSql = $"""
        SELECT correlation_id, accepted_at, amount_cents, 0 AS owner_epoch,
               (SELECT name FROM processors WHERE id = processor) AS processor, requested_at, attempts,
               NULL::timestamptz AS in_doubt_at, NULL::timestamptz AS parked_at, NULL::text AS parked_reason
        FROM settlements WHERE {InWindow} {NewestFirst}
        """;

    // Where settled payments fill a page, the search for the others ends at the last of these, so it passes at most a
    // page of settled ones, however old the owner's low-water mark is.
    private const string AllSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), settled AS ({SettledSql}), listed AS (
            SELECT * FROM settled
            UNION ALL
            SELECT unsettled.* FROM ({Owners} UNION ALL SELECT {Sql.Parked}, '-infinity') AS owners
            CROSS JOIN LATERAL (
                SELECT correlation_id, accepted_at, amount_cents, owner_epoch, NULL::text AS processor,
                       NULL::timestamptz AS requested_at, attempts, {DoubtOfPayment}, parked_at, parked_reason
                FROM payments
                WHERE owner_epoch = owners.epoch AND accepted_at <= @BeforeAt AND {InWindow}
                  AND accepted_at >= owners.low_water_mark
                  AND accepted_at >= coalesce(
                        (SELECT min(accepted_at) FROM settled HAVING count(*) = @Limit), '-infinity')
                  AND {PaymentStore.IsUnsettled}
                {Newest}) AS unsettled
        )
        SELECT * FROM listed {NewestFirst}
        """;

    // Settled ones are among them, so that a page costs as many rows as it has, however few of them are wanted.
    private const string OwnedSql = $"""
        SELECT owned.* FROM (
            {Owners} AND NOT @Parked UNION ALL SELECT {Sql.Parked}, '-infinity' WHERE @Parked) AS owners
        CROSS JOIN LATERAL (
            SELECT {WithSettlement} FROM (
                SELECT correlation_id, accepted_at, amount_cents, owner_epoch, attempts, parked_at, parked_reason
                FROM payments
                WHERE owner_epoch = owners.epoch AND accepted_at <= @BeforeAt AND {InWindow}
                  AND accepted_at >= owners.low_water_mark
                {Newest}) AS payments {Settlement}) AS owned
        {NewestFirst}
        """;

    private const string InDoubtSql = $"""
        SELECT found.* FROM doubts
        CROSS JOIN LATERAL (
            SELECT {WithSettlement} FROM payments {Settlement}
            WHERE payments.correlation_id = doubts.correlation_id AND payments.accepted_at = doubts.accepted_at
            LIMIT 1) AS found
        WHERE doubts.accepted_at >= @From AND (doubts.accepted_at, doubts.correlation_id) < (@BeforeAt, @BeforeId)
        ORDER BY doubts.accepted_at DESC, doubts.correlation_id DESC LIMIT @Limit
        """;

    public Task<PaymentRow?> FindAsync(Guid id) =>
        shared.RunAsync(db => db.QuerySingleOrDefaultAsync<PaymentRow>(
            FindSql, new { Id = id }, commandTimeout: db.CommandTimeout));

    public Task<List<PaymentRow>> AllAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(AllSql, page, commandTimeout: db.CommandTimeout));

    public Task<List<PaymentRow>> SettledAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(SettledSql, page, commandTimeout: db.CommandTimeout));

    /// <summary>A page of what the owners have, or of what is parked; some of these are settled.</summary>
    public Task<List<PaymentRow>> OwnedAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(OwnedSql, page, commandTimeout: db.CommandTimeout));

    public Task<List<PaymentRow>> InDoubtAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(InDoubtSql, page, commandTimeout: db.CommandTimeout));
}

/// <summary>So many payments before a position, accepted at From (UTC) or later; Parked is for OwnedAsync.</summary>
internal sealed record PaymentPageArgs(DateTime From, DateTime BeforeAt, Guid BeforeId, int Limit, bool Parked)
{
    public static PaymentPageArgs Before(PaymentCursor cursor, DateTime from, int limit, bool parked = false) =>
        new(from, cursor.AcceptedAt, cursor.Id, limit, parked);
}

/// <summary>A payment with its state; all times are UTC. The amount of a settled one is its processor's.</summary>
internal sealed record PaymentRow(
    Guid CorrelationId, DateTime AcceptedAt, long AmountCents, int OwnerEpoch, string? Processor, DateTime? RequestedAt,
    short? Attempts, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason)
{
    public PaymentCursor Cursor => new(AcceptedAt, CorrelationId);
}

/// <summary>A payment's position in the order of all: by its acceptance (UTC, microseconds), then its id.</summary>
internal sealed record PaymentCursor(DateTime AcceptedAt, Guid Id)
{
    /// <summary>Before every payment.</summary>
    public static readonly PaymentCursor Start = new(DateTime.UnixEpoch, Guid.Empty);

    /// <summary>After every payment; the end of DateTime travels as infinity.</summary>
    public static readonly PaymentCursor End =
        new(DateTime.SpecifyKind(DateTime.MaxValue, DateTimeKind.Utc), Guid.Empty);
}

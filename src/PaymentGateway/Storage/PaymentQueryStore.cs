namespace PaymentGateway.Storage;

/// <summary>
/// Single payments with their state, one or a page of them, newest first. A page needs no index of its own: settled
/// payments are found by the key of settlements, the others by their owners' index.
/// </summary>
internal sealed class PaymentQueryStore(SharedConnections shared)
{
    private const string OfSettlement = """
        FROM settlements WHERE settlements.accepted_at = payments.accepted_at
          AND settlements.correlation_id = payments.correlation_id
        """;

    // A subquery for each column looks up one row; a join may be planned as a scan of the whole table.
    private const string PaymentSql = $"""
        SELECT correlation_id, accepted_at,
               coalesce((SELECT amount_cents {OfSettlement}), amount_cents) AS amount_cents, owner_epoch,
               (SELECT (SELECT name FROM processors WHERE id = processor) {OfSettlement}) AS processor,
               (SELECT requested_at {OfSettlement}) AS requested_at,
               coalesce((SELECT attempts {OfSettlement}), attempts) AS attempts,
               (SELECT in_doubt_at FROM doubts WHERE doubts.accepted_at = payments.accepted_at
                  AND doubts.correlation_id = payments.correlation_id) AS in_doubt_at,
               parked_at, parked_reason, (SELECT name FROM payers WHERE id = payer) AS payer
        FROM payments
        """;

    private const string InWindow =
        "accepted_at >= @From AND (accepted_at, correlation_id) < (@BeforeAt, @BeforeId)";

    private const string NewestFirst = "ORDER BY accepted_at DESC, correlation_id DESC LIMIT @Limit";

    public const string FindSql = $"{PaymentSql} WHERE correlation_id = @Id";

    private const string OfPayment = """
        (SELECT (SELECT name FROM payers WHERE id = payer) FROM payments
         WHERE payments.accepted_at = settlements.accepted_at
           AND payments.correlation_id = settlements.correlation_id)
        """;

    private const string SettledSql = $"""
        SELECT correlation_id, accepted_at, amount_cents, 0 AS owner_epoch,
               (SELECT name FROM processors WHERE id = processor) AS processor, requested_at, attempts,
               NULL::timestamptz AS in_doubt_at, NULL::timestamptz AS parked_at, NULL::text AS parked_reason,
               {OfPayment} AS payer
        FROM settlements WHERE {InWindow} {NewestFirst}
        """;

    // The function returns a page for each owner.
    private const string ListSql =
        $"SELECT * FROM list_payments(@Which, @From, @BeforeAt, @BeforeId, @Limit) {NewestFirst}";

    private const string InDoubtSql = $"""
        {PaymentSql} WHERE correlation_id = ANY(ARRAY(
            SELECT correlation_id FROM doubts
            WHERE {InWindow} AND (
                SELECT true FROM payments AS held
                WHERE held.accepted_at = doubts.accepted_at AND held.correlation_id = doubts.correlation_id)
            {NewestFirst}))
        {NewestFirst}
        """;

    public Task<PaymentRow?> FindAsync(Guid id) =>
        shared.RunAsync(db => db.QuerySingleOrDefaultAsync<PaymentRow>(FindSql, new { Id = id }));

    public Task<List<PaymentRow>> AllAsync(PaymentPageArgs page) => ListAsync(page with { Which = "all" });

    public Task<List<PaymentRow>> SettledAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(SettledSql, page));

    /// <summary>A page of owned payments; some of them are settled.</summary>
    public Task<List<PaymentRow>> OwnedAsync(PaymentPageArgs page) => ListAsync(page with { Which = "owned" });

    /// <summary>A page of parked payments; some of them may be settled.</summary>
    public Task<List<PaymentRow>> ParkedAsync(PaymentPageArgs page) => ListAsync(page with { Which = "parked" });

    public Task<List<PaymentRow>> InDoubtAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(InDoubtSql, page));

    private Task<List<PaymentRow>> ListAsync(PaymentPageArgs page) =>
        shared.ListAsync(db => db.QueryAsync<PaymentRow>(ListSql, page));
}

/// <summary>
/// A page of at most Limit payments before a position, accepted at From (UTC) or later. Which names the list, as in
/// list_payments: all, owned or parked.
/// </summary>
internal sealed record PaymentPageArgs(
    DateTime From, DateTime BeforeAt, Guid BeforeId, int Limit, string Which = "all")
{
    public static PaymentPageArgs Before(PaymentCursor cursor, DateTime from, int limit) =>
        new(from, cursor.AcceptedAt, cursor.Id, limit);
}

/// <summary>A payment with its state; all times are UTC. The amount of a settled one is its processor's.</summary>
internal sealed record PaymentRow(
    Guid CorrelationId, DateTime AcceptedAt, long AmountCents, int OwnerEpoch, string? Processor, DateTime? RequestedAt,
    short? Attempts, DateTime? InDoubtAt, DateTime? ParkedAt, string? ParkedReason, string? Payer = null)
{
    public PaymentCursor Cursor => new(AcceptedAt, CorrelationId);
}

/// <summary>A payment's position in the order of all: by its acceptance (UTC, microseconds), then its id.</summary>
internal sealed record PaymentCursor(DateTime AcceptedAt, Guid Id)
{
    /// <summary>Before every payment.</summary>
    public static readonly PaymentCursor Start = new(DateTime.UnixEpoch, Guid.Empty);

    /// <summary>After every payment; the end of DateTime is sent as infinity.</summary>
    public static readonly PaymentCursor End =
        new(DateTime.SpecifyKind(DateTime.MaxValue, DateTimeKind.Utc), Guid.Empty);
}

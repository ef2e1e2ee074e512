using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>The accepted payments in PostgreSQL: stored once for good, found again by their owner.</summary>
internal sealed class PaymentStore(SharedConnections connections, BatchConnections batches)
{
    /// <summary>
    /// A payment that is not settled. A scalar subquery, so that it is looked up for the few rows that the rest of a
    /// statement finds: a join's kept plan read payments whole, each second
    /// (docs/decisions/0017-every-plan-uses-an-index.md).
    /// </summary>
    public const string IsUnsettled = """
        (SELECT true FROM settlements WHERE settlements.accepted_at = payments.accepted_at
           AND settlements.correlation_id = payments.correlation_id) IS NULL
        """;

    // The lease is checked in the same statement: an epoch that another instance has closed, or a batch that was
    // given up, must not add payments which nobody would look for any more. The lock timeout is for ids that another
    // transaction has stored and not committed, and for this statement alone.
    private const string StoreSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
        SELECT accepted.correlation_id, accepted.amount_cents, accepted.accepted_at, @OwnerEpoch
        FROM unnest(@Ids, @AmountsCents, @AcceptedAts) AS accepted (correlation_id, amount_cents, accepted_at)
        WHERE (SELECT set_config('lock_timeout', @LockTimeout, true)) IS NOT NULL
          AND (SELECT refused_until FROM leases WHERE epoch = @OwnerEpoch AND closed_at IS NULL) < accepted.accepted_at
        ON CONFLICT (correlation_id) DO NOTHING
        """;

    // Light load comes one by one, and this starts faster than a statement on arrays of one.
    private const string StoreOneSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
        SELECT @Id, @AmountCents, @AcceptedAt, epoch FROM leases
        WHERE epoch = @OwnerEpoch AND closed_at IS NULL AND refused_until < @AcceptedAt
          AND (SELECT set_config('lock_timeout', @LockTimeout, true)) IS NOT NULL
        ON CONFLICT (correlation_id) DO NOTHING
        """;

    // Handed over, so that the sweep of the owner's table leaves alone what the owner has in memory. Whose the ids are
    // then is another statement's question: this one's snapshot may be older than rows that it had to wait for.
    private const string StoreAgainSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, handover, owner_epoch)
        SELECT kept.correlation_id, kept.amount_cents, kept.accepted_at, kept.handover, @OwnerEpoch
        FROM unnest(@Ids, @AmountsCents, @AcceptedAts, @Handovers)
          AS kept (correlation_id, amount_cents, accepted_at, handover)
        WHERE EXISTS (SELECT 1 FROM leases WHERE epoch = @OwnerEpoch AND closed_at IS NULL)
        ON CONFLICT (correlation_id) DO NOTHING
        """;

    private const string FindSql = """
        SELECT correlation_id, amount_cents, accepted_at, owner_epoch, handover FROM payments
        WHERE correlation_id = ANY(@Ids)
        """;

    private const string UnsettledPageSql = $"""
        SELECT correlation_id, amount_cents, accepted_at, owner_epoch, handover FROM payments
        WHERE owner_epoch = @OwnerEpoch AND handover = {Sql.AsAccepted}
          AND accepted_at >= @From AND accepted_at <= @To AND {IsUnsettled}
        ORDER BY accepted_at LIMIT @Limit
        """;

    /// <summary>
    /// Stores a batch in one statement. The ids must be sorted: unsorted batches deadlock each other.
    /// </summary>
    /// <returns>
    /// How many were new; fewer than given when some were known, or when the owner's lease refuses them.
    /// </returns>
    /// <exception cref="DbException">
    /// Not stored, or nobody knows: the connection broke. With LockNotAvailable nothing was stored.
    /// </exception>
    public Task<int> StoreAsync(StoreArgs batch) =>
        batches.RunAsync(
            static (connection, batch) => batch.Ids.Length == 1
                ? connection.ExecuteAsync(
                    StoreOneSql, StoreOneArgs.Of(batch), commandTimeout: connection.CommandTimeout)
                : connection.ExecuteAsync(StoreSql, batch, commandTimeout: connection.CommandTimeout),
            batch);

    /// <summary>Stores again what a crash of the database lost and memory kept. The ids must be sorted.</summary>
    /// <returns>
    /// The rows that these ids have now, in no order; one that has another owner or time is not to be charged here.
    /// </returns>
    public async Task<List<StoredPayment>> StoreAgainAsync(StoreAgainArgs kept)
    {
        await connections.RunAsync(connection => connection.ExecuteAsync(
            StoreAgainSql, kept, commandTimeout: connection.CommandTimeout));
        return await FindAsync(kept.Ids);
    }

    /// <summary>The stored payments among these ids, in no order.</summary>
    public Task<List<StoredPayment>> FindAsync(Guid[] ids) =>
        connections.ListAsync(connection => connection.QueryAsync<StoredPayment>(
            FindSql, new { Ids = ids }, commandTimeout: connection.CommandTimeout));

    /// <summary>
    /// The same on a connection of the batches: outcomes that are to be recorded wait for no other one.
    /// </summary>
    public Task<List<StoredPayment>> FindRecordedAsync(Guid[] ids) =>
        RowReading.RunAsync(() => batches.RunAsync(
            static async (connection, ids) => (await connection.QueryAsync<StoredPayment>(
                FindSql, new { Ids = ids }, commandTimeout: connection.CommandTimeout)).AsList(),
            ids));

    /// <summary>A page of what the owner has accepted and neither settled nor handed over, oldest first.</summary>
    public Task<List<StoredPayment>> UnsettledPageAsync(UnsettledPageArgs page) =>
        connections.ListAsync(connection => connection.QueryAsync<StoredPayment>(
            UnsettledPageSql, page, commandTimeout: connection.CommandTimeout));
}

/// <summary>
/// A batch to store, all arrays of one length; LockTimeout is for ids that another transaction has not committed.
/// </summary>
internal sealed record StoreArgs(
    Guid[] Ids, long[] AmountsCents, DateTime[] AcceptedAts, int OwnerEpoch, string LockTimeout = "300ms");

/// <summary>One payment to store.</summary>
internal sealed record StoreOneArgs(
    Guid Id, long AmountCents, DateTime AcceptedAt, int OwnerEpoch, string LockTimeout)
{
    public static StoreOneArgs Of(StoreArgs batch) =>
        new(batch.Ids[0], batch.AmountsCents[0], batch.AcceptedAts[0], batch.OwnerEpoch, batch.LockTimeout);
}

/// <summary>Payments to store again, all arrays of one length.</summary>
internal sealed record StoreAgainArgs(
    Guid[] Ids, long[] AmountsCents, DateTime[] AcceptedAts, short[] Handovers, int OwnerEpoch);

/// <summary>A page of an owner's unsettled payments; both bounds are inclusive.</summary>
internal sealed record UnsettledPageArgs(int OwnerEpoch, DateTime From, DateTime To, int Limit);

/// <summary>A row of payments.</summary>
internal sealed record StoredPayment(
    Guid CorrelationId, long AmountCents, DateTime AcceptedAt, int OwnerEpoch, short Handover)
{
    public Payment ToPayment() => new(CorrelationId, AmountCents, AcceptedAt, OwnerEpoch)
    {
        Attempts = Handover == AsAccepted ? (short)0 : null,
    };
}

namespace PaymentGateway.Storage;

/// <summary>The accepted payments in PostgreSQL.</summary>
internal sealed class PaymentStore(BatchConnections batches)
{
    // A scalar subquery, because the kept plan of a join scanned payments each second
    // (docs/decisions/0017-every-plan-uses-an-index.md).
    public const string IsUnsettled = """
        (SELECT true FROM settlements WHERE settlements.accepted_at = payments.accepted_at
           AND settlements.correlation_id = payments.correlation_id) IS NULL
        """;

    // The statement checks the epoch itself, because the search of a closed epoch ends. It does not read the lease,
    // which a renewal rewrites each second (HeldSnapshotTests). The lock timeout is for ids that another transaction
    // has stored and not committed.
    private const string StoreSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, payer)
        SELECT accepted.correlation_id, accepted.amount_cents, accepted.accepted_at, @OwnerEpoch,
               NULLIF(accepted.payer, 0)
        FROM unnest(@Ids, @AmountsCents, @AcceptedAts, @Payers)
          AS accepted (correlation_id, amount_cents, accepted_at, payer)
        WHERE (SELECT set_config('lock_timeout', @LockTimeout, true)) IS NOT NULL
          AND EXISTS (SELECT 1 FROM open_epochs WHERE epoch = @OwnerEpoch)
        ON CONFLICT (correlation_id) DO NOTHING
        RETURNING accepted_at
        """;

    // For single payments of a light load: it starts faster than the statement on arrays.
    private const string StoreOneSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, payer)
        SELECT @Id, @AmountCents, @AcceptedAt, epoch, NULLIF(@Payer, 0) FROM open_epochs
        WHERE epoch = @OwnerEpoch
          AND (SELECT set_config('lock_timeout', @LockTimeout, true)) IS NOT NULL
        ON CONFLICT (correlation_id) DO NOTHING
        RETURNING accepted_at
        """;

    private const string FindSql = $"""
        SELECT correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, held_by, coalesce(payer, 0) AS payer
        FROM payments
        WHERE correlation_id = ANY(@Ids) AND {MultiHost.IsCommitted}
        """;

    private const string UnsettledPageSql = $"""
        SELECT correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, held_by FROM payments
        WHERE owner_epoch = @OwnerEpoch AND may_be_at IS NULL
          AND accepted_at >= @From AND accepted_at <= @To AND {IsUnsettled} AND {MultiHost.IsCommitted}
        ORDER BY accepted_at LIMIT @Limit
        """;

    /// <summary>Stores a batch. The ids must be sorted, otherwise batches deadlock each other.</summary>
    /// <returns>The times of the new payments; the others were known, or the owner's epoch is closed.</returns>
    /// <exception cref="DbException">The outcome is unknown; with LockNotAvailable nothing was stored.</exception>
    public Task<DateTime[]> StoreAsync(StoreArgs batch) => batches.RunWithoutDapperAsync(
        static async (db, batch) =>
        {
            // Without Dapper, because its rows need a thread of the pool (Db), and that switch costs a quarter
            // of an instance's CPU. Npgsql has a whole row when ReadAsync completes, so no thread blocks.
            await using var insert = db.CreateCommand();
            var one = batch.Ids.Length == 1;
            insert.CommandText = one ? StoreOneSql : StoreSql;
            var given = insert.Parameters;
            given.AddWithValue(one ? "Id" : "Ids", one ? batch.Ids[0] : batch.Ids);
            given.AddWithValue(one ? "AmountCents" : "AmountsCents", one ? batch.AmountsCents[0] : batch.AmountsCents);
            given.AddWithValue(one ? "AcceptedAt" : "AcceptedAts", one ? batch.AcceptedAts[0] : batch.AcceptedAts);
            given.AddWithValue(one ? "Payer" : "Payers", one ? batch.Payers[0] : batch.Payers);
            given.AddWithValue("OwnerEpoch", batch.OwnerEpoch);
            given.AddWithValue("LockTimeout", batch.LockTimeout);
            await using var rows = await insert.ExecuteReaderAsync();
            var (times, count) = (new DateTime[batch.Ids.Length], 0);
            while (await rows.ReadAsync())
                times[count++] = rows.GetDateTime(0);
            return times[..count];
        },
        batch);

    public Task<List<StoredPayment>> FindAsync(Guid[] ids) =>
        batches.ListAsync(db => db.QueryAsync<StoredPayment>(FindSql, new { Ids = ids }));

    /// <summary>A page of what the owner has accepted, and what is neither settled nor another's now, oldest
    /// first.</summary>
    public Task<List<StoredPayment>> UnsettledPageAsync(UnsettledPageArgs page) =>
        batches.ListAsync(db => db.QueryAsync<StoredPayment>(UnsettledPageSql, page));
}

/// <summary>A payer is a number of <see cref="PayerStore"/>; 0 where no token was needed.</summary>
internal sealed record StoreArgs(
    Guid[] Ids, long[] AmountsCents, DateTime[] AcceptedAts, int[] Payers, int OwnerEpoch,
    string LockTimeout = "300ms");

/// <summary>Both bounds are inclusive.</summary>
internal sealed record UnsettledPageArgs(int OwnerEpoch, DateTime From, DateTime To, int Limit);

/// <summary>MayBeAt are the bits of a set; null where nobody but its first owner had it.</summary>
internal sealed record StoredPayment(
    Guid CorrelationId, long AmountCents, DateTime AcceptedAt, int OwnerEpoch, short? MayBeAt = null,
    short? HeldBy = null, int Payer = 0)
{
    public Payment ToPayment() =>
        Payment.OfRow(CorrelationId, AmountCents, AcceptedAt, OwnerEpoch, MayBeAt is not null, HeldBy);
}

using static PaymentGateway.Storage.Owners;

namespace PaymentGateway.Storage;

/// <summary>Moves the payments of closed epochs to new owners.</summary>
/// <param name="shared">For statements that may take longer.</param>
/// <param name="batches">For adoptions: a statement that waits for one of these was not sent.</param>
internal sealed class AdoptionStore(SharedConnections shared, BatchConnections batches)
{
    // A statement locks its table before it takes its snapshot, and its transaction keeps the lock until its rows are
    // visible. So a transaction without a lock here is over, or begins with what is committed now
    // (docs/decisions/0011-a-broken-insert-is-asked-for-once.md).
    private const string WritersSql = "SELECT writer FROM unfinished_writers";

    // Epoch 0 owns nothing most of the time, and an adoption of nothing costs more than this query. An instance that
    // runs takes its own former epochs over, because it knows where their payments may be.
    private const string OrphanedSql = $"""
        SELECT epoch, low_water_mark, used_processors FROM leases
        WHERE closed_at IS NOT NULL AND adopted_at IS NULL
          AND (epoch <> {Sql.Nobody} OR EXISTS (SELECT 1 FROM payments WHERE owner_epoch = {Sql.Nobody}))
          AND (instance = @Instance OR NOT EXISTS (
              SELECT 1 FROM leases AS next WHERE next.instance = leases.instance AND next.closed_at IS NULL))
        ORDER BY epoch
        """;

    private const string NotAdoptedSql =
        "SELECT epoch FROM leases WHERE epoch = ANY(@Epochs) AND adopted_at IS NULL";

    // A page of an owner's payments by time. Settled ones count, otherwise many of them would make a statement slow.
    // It says itself what is unsettled, because a database of several servers looks nothing up for the rows of a page.
    // On one server it has all payments of its last time.
    public const string Page = $"""
        SELECT correlation_id, accepted_at, may_be_at, {PaymentStore.IsUnsettled} AS is_unsettled FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark
        ORDER BY accepted_at FETCH FIRST @Rows ROWS WITH TIES
        """;

    // The next page begins with the last time of this one, because several servers may cut a page within a time. After
    // a page of one time it begins later, otherwise the search would stay there.
    public const string NextPage = $"""
        SELECT CASE WHEN count(*) >= @Rows
                    THEN greatest(max(accepted_at), min(accepted_at) + interval '1 microsecond') END AS next
        FROM ({Page}) AS page
        """;

    // A row's set of processors plus those that its owner may have used.
    public const string WithUsed = "coalesce(may_be_at, 0::smallint) | owner.used_processors";

    private const string AdoptSql = $"""
        WITH claim AS (
            -- One adopter at a time, because two that move payments in different orders deadlock. If the lease row is
            -- locked, no row is returned. The lock timeout ends a wait for another transaction's payment, because the
            -- adopter's lease, which is locked below, must be renewed.
            SELECT epoch, used_processors FROM leases
            WHERE epoch = @Epoch AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), rest AS MATERIALIZED (
            -- First: several servers run each part of a statement after those before it. After payments have moved or
            -- left the page, it would end later, and the search would skip as many. What comes late has a writer that
            -- is awaited.
            {NextPage}
        ), orphans AS (
            SELECT correlation_id, accepted_at, may_be_at IS NULL AS was_as_accepted FROM ({Page}) AS page
            WHERE EXISTS (SELECT 1 FROM claim) AND is_unsettled
            ORDER BY accepted_at LIMIT @Limit
        ), lowered AS (
            -- The adopter's own low-water mark, otherwise its death would leave older payments unseen. A closed adopter
            -- gets nothing, because nobody searches its epoch any more.
            UPDATE leases SET low_water_mark = least(low_water_mark, (SELECT min(accepted_at) FROM orphans)),
                              renewal = greatest(renewal, @Number)
            WHERE epoch = @To AND closed_at IS NULL AND EXISTS (SELECT 1 FROM claim) RETURNING epoch
        ), moved AS (
            -- Compares the owner again, because the snapshot may be older than the claim. The set of processors of a
            -- closed epoch is final; payments that it had adopted keep their doubt.
            UPDATE payments
            SET owner_epoch = @To, may_be_at = {WithUsed}
            FROM claim AS owner
            WHERE correlation_id IN (SELECT correlation_id FROM orphans) AND owner_epoch = @Epoch
              AND EXISTS (SELECT 1 FROM lowered)
            RETURNING correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, held_by
        )
        SELECT CASE WHEN (SELECT count(*) FROM orphans) = @Limit THEN (SELECT max(accepted_at) FROM orphans)
                    ELSE (SELECT next FROM rest) END AS next,
               moved.correlation_id, moved.amount_cents, moved.accepted_at, moved.owner_epoch, moved.may_be_at,
               moved.held_by, coalesce(was_as_accepted, false) AS was_as_accepted
        FROM lowered LEFT JOIN moved ON true LEFT JOIN orphans ON orphans.correlation_id = moved.correlation_id
        -- The oldest is charged first.
        ORDER BY moved.accepted_at, moved.correlation_id
        """;

    private const string MarkAdoptedSql = $"""
        WITH unsettled AS (
            SELECT 1 FROM payments
            WHERE owner_epoch = @Epoch AND accepted_at >= @LastPage AND {PaymentStore.IsUnsettled} LIMIT 1
        )
        UPDATE leases SET adopted_at = now()
        WHERE epoch = @Epoch AND epoch <> {Sql.Nobody} AND adopted_at IS NULL AND closed_at IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM unsettled)
        """;

    private const string OldSql = """
        SELECT epoch, low_water_mark, used_processors FROM leases WHERE adopted_at < now() - interval '1 day'
        ORDER BY epoch
        """;

    // A lease that still owns payments stays, because a reconciliation finds payments by their owners.
    private const string DeleteSql = """
        WITH owned AS (
            SELECT 1 FROM payments WHERE owner_epoch = @Epoch LIMIT 1
        ), told AS (
            DELETE FROM instance_readings WHERE epoch = @Epoch
        )
        DELETE FROM leases WHERE epoch = @Epoch AND NOT EXISTS (SELECT 1 FROM owned)
        """;

    /// <summary>The closed epochs whose payments are perhaps not all adopted; 0 has the released payments.</summary>
    public Task<List<EpochRow>> OrphanedAsync(string instance) =>
        shared.ListAsync(db => db.QueryAsync<EpochRow>(OrphanedSql, new { Instance = instance }));

    /// <summary>Those of some epochs that may own unsettled payments, closed or not.</summary>
    public Task<List<int>> NotAdoptedAsync(int[] epochs) =>
        shared.ListAsync(db => db.QueryAsync<int>(NotAdoptedSql, new { Epochs = epochs }));

    /// <summary>Moves the unsettled payments of a page to a new owner and returns them, the oldest first.</summary>
    /// <remarks>
    /// An adoption without an answer costs the adopter its epoch. On a multiplexed connection it could wait behind slow
    /// statements for longer than its own limit; here the server's limit of 5 s ends it with an answer.
    /// </remarks>
    /// <returns>Null when another adopter has the epoch, or the new owner is closed.</returns>
    public async Task<AdoptedPage?> AdoptPageAsync(AdoptArgs page)
    {
        var rows = await batches.ListAsync(db => db.QueryAsync<AdoptedRow>(AdoptSql, page));
        var moved = rows.FindAll(row => row.CorrelationId is not null);
        return rows.Count == 0 ? null : new AdoptedPage(moved, rows[0].Next);
    }

    /// <summary>
    /// The names of transactions that write to payments now, or were prepared and may commit at any time. A prepared
    /// one begins with "prepared " and outlasts a restart.
    /// </summary>
    public Task<List<string>> WritersAsync() => shared.ListAsync(db => db.QueryAsync<string>(WritersSql));

    /// <summary>
    /// Ends the search in a closed epoch, whose statements must have been over when the search began. Searches end
    /// rarely, so old leases are deleted then.
    /// </summary>
    /// <param name="epoch">It has nothing unsettled before its last page.</param>
    /// <param name="lastPage">Where that page begins; it is searched once more.</param>
    public async Task MarkAdoptedAsync(int epoch, DateTime lastPage)
    {
        await shared.RunAsync(db => db.ExecuteAsync(MarkAdoptedSql, new { Epoch = epoch, LastPage = lastPage }));
        foreach (var old in await shared.ListAsync(db => db.QueryAsync<EpochRow>(OldSql)))
            await shared.RunAsync(db => db.ExecuteAsync(DeleteSql, new { old.Epoch }));
    }
}

/// <summary>An epoch, and the bits of the processors that it may have charged at.</summary>
internal sealed record EpochRow(int Epoch, DateTime LowWaterMark, short UsedProcessors);

/// <summary>A page of the payments of Epoch for the epoch To: Rows are read, and at most Limit adopted.</summary>
internal sealed record AdoptArgs(
    int Epoch, int To, DateTime LowWaterMark, int Limit, long Number = 0, int Rows = LeasingOptions.RowsMaxDefault);

/// <summary>
/// Next is null at the end of the search; the rest is null where nothing was adopted. WasAsAccepted: no other epoch
/// ever owned the payment.
/// </summary>
internal sealed record AdoptedRow(
    DateTime? Next, Guid? CorrelationId, long? AmountCents, DateTime? AcceptedAt, int? OwnerEpoch, short? MayBeAt,
    short? HeldBy, bool WasAsAccepted)
{
    public StoredPayment Stored =>
        new(CorrelationId!.Value, AmountCents!.Value, AcceptedAt!.Value, OwnerEpoch!.Value, MayBeAt, HeldBy);
}

/// <summary>Next is where the next page begins; null is the end, here and below.</summary>
internal sealed record AdoptedPage(List<AdoptedRow> Payments, DateTime? Next);

using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>Leases of instances and the payments that change hands by them, by the database's clock alone.</summary>
/// <param name="leases">The keeper's own: what others wait for must not cost the lease.</param>
/// <param name="connections">For what moves payments, and may take longer.</param>
/// <param name="batches">For adoptions: a statement that waits there was not sent.</param>
internal sealed class LeaseStore(
    [FromKeyedServices(LeaseStore.Leases)] SharedConnections leases, SharedConnections connections,
    BatchConnections batches)
{
    /// <summary>Names the connections of the leases.</summary>
    public const string Leases = "leases";

    /// <summary>How many payments a statement reads to find the unsettled ones.</summary>
    public const int RowsMax = 10_000;

    private const string OpenSql = """
        INSERT INTO leases (instance, expires_at, used_fallback, default_url, fallback_url)
        VALUES (@Instance, now() + @Duration, false, @DefaultUrl, @FallbackUrl)
        RETURNING epoch
        """;

    // Null, of an earlier version, differs from nothing.
    private const string OtherProcessorsSql = """
        SELECT instance, default_url, fallback_url FROM leases
        WHERE closed_at IS NULL AND expires_at > now() AND epoch <> @Epoch AND instance <> @ProvenTerminated
          AND (default_url <> @DefaultUrl OR fallback_url <> @FallbackUrl)
        ORDER BY epoch LIMIT 1
        """;

    // Closing comes first and for good: a closed epoch can neither renew nor store, so its payments are a fixed set. A
    // lease that another one holds is left to it, and waits for the next renewal.
    private const string RenewalSql = """
        WITH renewed AS (
            UPDATE leases SET expires_at = now() + @Duration, low_water_mark = @LowWaterMark,
                              refused_until = greatest(refused_until, @RefusedUntil), renewal = @Number,
                              used_fallback = used_fallback OR @UsesFallback,
                              reading = @Reading, read_at = now()
            WHERE epoch = @Epoch AND closed_at IS NULL AND renewal < @Number RETURNING epoch
        ), ended AS (
            SELECT epoch FROM leases
            WHERE closed_at IS NULL AND epoch <> @Epoch AND EXISTS (SELECT FROM renewed)
              AND ((@CloseExpired AND expires_at < now()) OR (instance = @ProvenTerminated AND epoch < @Epoch))
            FOR UPDATE SKIP LOCKED
        ), closed AS (
            UPDATE leases SET closed_at = now() WHERE epoch IN (SELECT epoch FROM ended)
        )
        SELECT EXISTS (SELECT FROM renewed) AS renewed,
               EXISTS (SELECT FROM leases WHERE epoch = @Epoch AND closed_at IS NULL) AS is_open,
               generation, resets, reset_at, EXISTS (SELECT FROM ledger_intact) AS intact
        FROM ledger WHERE id = 1
        """;

    // The page shows an instance that has ended as silent for a while.
    private const string ReadingsSql = """
        SELECT epoch, instance, reading, extract(epoch FROM now() - read_at)::float8 AS age_seconds FROM leases
        WHERE reading IS NOT NULL AND (closed_at IS NULL OR read_at > now() - interval '30 seconds')
        """;

    // A statement locks its table before it takes its snapshot, and its transaction keeps the lock until what it did
    // can be seen. So who has no lock here begins with what is committed now, or is over
    // (docs/decisions/0011-a-broken-insert-is-asked-for-once.md).
    private const string WritersSql = """
        SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
        WHERE relation = 'payments'::regclass AND mode = 'RowExclusiveLock'
        """;

    private const string CloseSql = "UPDATE leases SET closed_at = now() WHERE epoch = @Epoch AND closed_at IS NULL";

    // Nothing is released most of the time, and adopting nothing costs more than this query.
    private const string OrphanedSql = $"""
        SELECT epoch, low_water_mark, epoch <> {Sql.Nobody} AND used_fallback AS used_fallback
        FROM leases
        WHERE closed_at IS NOT NULL AND adopted_at IS NULL
          AND (epoch <> {Sql.Nobody} OR EXISTS (SELECT FROM payments WHERE owner_epoch = {Sql.Nobody}))
        ORDER BY epoch
        """;

    // A page of an owner's payments by time, the settled ones among them: their number must not make a statement long.
    // It ends with all payments of its last time, so that the next page begins after that.
    private const string Page = """
        SELECT correlation_id, accepted_at FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark
        ORDER BY accepted_at FETCH FIRST @Rows ROWS WITH TIES
        """;

    private const string NextPage = $"""
        (SELECT CASE WHEN count(*) >= @Rows THEN max(accepted_at) + interval '1 microsecond' END FROM ({Page}) AS page)
        """;

    // One adopter at a time: two that moved the same payments in another order would deadlock. Whoever finds the lease
    // row locked gets no row at all. The owner is checked again in the UPDATE, as the snapshot may be older than the
    // claim. The adopter's own low-water mark is lowered in the same statement, or its death would leave older payments
    // unseen; an adopter that was closed meanwhile gets no row, or they would belong to an epoch that nobody searches
    // any more. A closed epoch's mark of fallback is final. What it had adopted itself keeps the doubt it came with.
    // A payment that another transaction holds must not keep the adopter's own lease, which is locked here, from its
    // renewal.
    private const string AdoptSql = $"""
        WITH claim AS (
            SELECT epoch, used_fallback FROM leases
            WHERE epoch = @Epoch AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), orphans AS (
            SELECT correlation_id, accepted_at FROM ({Page}) AS payments
            WHERE EXISTS (SELECT FROM claim) AND {PaymentStore.IsUnsettled}
            ORDER BY accepted_at LIMIT @Limit
        ), lowered AS (
            UPDATE leases SET low_water_mark = least(low_water_mark, (SELECT min(accepted_at) FROM orphans)),
                              renewal = greatest(renewal, @Number)
            WHERE epoch = @To AND closed_at IS NULL AND EXISTS (SELECT FROM claim) RETURNING epoch
        ), moved AS (
            UPDATE payments SET owner_epoch = @To, handover = CASE
                WHEN @Epoch = {Sql.Nobody} THEN greatest(handover, {Sql.Unsent})
                WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM claim) THEN {Sql.InDoubt}
                ELSE {Sql.InDoubtAtDefault} END
            WHERE correlation_id IN (SELECT correlation_id FROM orphans) AND owner_epoch = @Epoch
              AND EXISTS (SELECT 1 FROM lowered)
            RETURNING correlation_id, amount_cents, accepted_at, owner_epoch, handover
        )
        SELECT CASE WHEN (SELECT count(*) FROM orphans) = @Limit THEN (SELECT max(accepted_at) FROM orphans)
                    ELSE {NextPage} END AS next,
               moved.correlation_id, moved.amount_cents, moved.accepted_at, moved.owner_epoch, moved.handover
        FROM lowered LEFT JOIN moved ON true
        """;

    // A search ends rarely, so this statement also deletes leases that are over for good. One that still owns payments
    // stays, because a reconciliation finds payments by their owners.
    private const string MarkAdoptedSql = $"""
        WITH deleted AS (
            DELETE FROM leases
            WHERE adopted_at < now() - interval '1 day'
              AND (SELECT true FROM payments WHERE owner_epoch = leases.epoch LIMIT 1) IS NULL
        )
        UPDATE leases SET adopted_at = now()
        WHERE epoch = @Epoch AND epoch <> {Sql.Nobody} AND adopted_at IS NULL AND closed_at IS NOT NULL
          AND NOT EXISTS (
              SELECT 1 FROM payments
              WHERE owner_epoch = @Epoch AND accepted_at >= @LastPage AND {PaymentStore.IsUnsettled})
        """;

    // What is surely unsent may be adopted and sent at once, what is in doubt stays in doubt.
    private const string ReleaseSql = $"""
        WITH released AS (
            UPDATE payments
            SET owner_epoch = {Sql.Nobody}, handover = CASE
                WHEN correlation_id <> ALL(@InDoubt) THEN greatest(handover, {Sql.Unsent})
                WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM leases WHERE epoch = @Epoch)
                THEN {Sql.InDoubt}
                ELSE {Sql.InDoubtAtDefault} END
            WHERE owner_epoch = @Epoch AND correlation_id IN (
                SELECT correlation_id FROM ({Page}) AS payments WHERE {PaymentStore.IsUnsettled})
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM released) AS released, {NextPage} AS next
        """;

    /// <summary>Begins a new epoch.</summary>
    public Task<int> OpenAsync(OpenLeaseArgs lease) =>
        leases.RunAsync(connection => connection.QuerySingleAsync<int>(
            OpenSql, lease, commandTimeout: connection.CommandTimeout));

    /// <summary>The processors of another valid lease that names others than these; null where none does.</summary>
    public Task<OtherProcessorsRow?> FindOtherProcessorsAsync(OtherProcessorsArgs processors) =>
        leases.RunAsync(connection => connection.QuerySingleOrDefaultAsync<OtherProcessorsRow>(
            OtherProcessorsSql, processors, commandTimeout: connection.CommandTimeout));

    /// <summary>Renews an epoch, and closes others that have ended, in one statement.</summary>
    public Task<RenewalRow> RenewAsync(RenewalArgs renewal) =>
        leases.RunAsync(connection => connection.QuerySingleAsync<RenewalRow>(
            RenewalSql, renewal, commandTimeout: connection.CommandTimeout));

    /// <summary>How each instance does, by its last renewal; of closed leases those of the last 30 s.</summary>
    public Task<List<ReadingRow>> ReadingsAsync() =>
        connections.ListAsync(connection => connection.QueryAsync<ReadingRow>(
            ReadingsSql, commandTimeout: connection.CommandTimeout));

    /// <summary>The closed epochs whose payments have perhaps not all been adopted; 0 is what was released.</summary>
    public Task<List<OrphanedEpoch>> OrphanedAsync() =>
        connections.ListAsync(connection => connection.QueryAsync<OrphanedEpoch>(
            OrphanedSql, commandTimeout: connection.CommandTimeout));

    /// <summary>Moves the unsettled payments of a page to a new owner and gives them, in no order.</summary>
    /// <remarks>
    /// An adoption without an answer costs the adopter its epoch. On a multiplexed connection it would wait behind slow
    /// statements for longer than its own limit; here the server's limit of 5 s ends it with an answer.
    /// </remarks>
    /// <returns>Null when nothing was searched: another adopter has the epoch, or the new owner is closed.</returns>
    public async Task<AdoptedPage?> AdoptPageAsync(AdoptArgs page)
    {
        var rows = await RowReading.RunAsync(() => batches.RunAsync(
            static async (connection, page) => (await connection.QueryAsync<AdoptedRow>(
                AdoptSql, page, commandTimeout: connection.CommandTimeout)).AsList(),
            page));
        var moved = rows.FindAll(row => row.Handover is not null);
        return rows.Count == 0 ? null : new AdoptedPage(moved.ConvertAll(row => row.Stored), rows[0].Next);
    }

    /// <summary>The transactions that write to payments now, each by a name that no other has.</summary>
    public Task<List<string>> WritersAsync() =>
        connections.ListAsync(connection => connection.QueryAsync<string>(
            WritersSql, commandTimeout: connection.CommandTimeout));

    /// <summary>
    /// Ends the search in a closed epoch that has nothing unsettled left; none of its statements may have run when it
    /// began.
    /// </summary>
    /// <param name="epoch">It has nothing unsettled before its last page.</param>
    /// <param name="lastPage">Where that begins; it is looked through once more.</param>
    public Task MarkAdoptedAsync(int epoch, DateTime lastPage) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            MarkAdoptedSql, new { Epoch = epoch, LastPage = lastPage }, commandTimeout: connection.CommandTimeout));

    /// <summary>Ends an epoch for good; what it owns is to be adopted.</summary>
    public Task CloseAsync(int epoch) =>
        leases.RunAsync(connection => connection.ExecuteAsync(
            CloseSql, new { Epoch = epoch }, commandTimeout: connection.CommandTimeout));

    /// <summary>A clean stop: releases what the epoch has not settled, and closes it.</summary>
    /// <returns>How many payments were released.</returns>
    public async Task<int> ReleaseAsync(ReleaseArgs release)
    {
        try
        {
            var count = 0L;
            for (DateTime? from = release.LowWaterMark; from is { } next;)
            {
                var page = release with { LowWaterMark = next };
                var row = await connections.RunAsync(connection => connection.QuerySingleAsync<ReleasedRow>(
                    ReleaseSql, page, commandTimeout: connection.CommandTimeout));
                (count, from) = (count + row.Released, row.Next);
            }

            return (int)count;
        }
        finally
        {
            // Last: from a closed epoch another instance would take them as in doubt.
            await CloseAsync(release.Epoch);
        }
    }
}

/// <summary>A closed epoch; UsedFallback is false when it has surely charged nothing there.</summary>
internal sealed record OrphanedEpoch(int Epoch, DateTime LowWaterMark, bool UsedFallback);

/// <summary>A new lease. The URLs are null for a lease of an earlier version, which named none.</summary>
internal sealed record OpenLeaseArgs(
    string Instance, TimeSpan Duration, string? DefaultUrl = null, string? FallbackUrl = null);

/// <summary>
/// The processors of Epoch. Leases of ProvenTerminated (empty: nothing is proven) are valid no more.
/// </summary>
internal sealed record OtherProcessorsArgs(int Epoch, string ProvenTerminated, string DefaultUrl, string FallbackUrl);

/// <summary>An instance with a valid lease, and its processors.</summary>
internal sealed record OtherProcessorsRow(string Instance, string DefaultUrl, string FallbackUrl);

/// <summary>
/// A renewal by an owner. Everything accepted before LowWaterMark is settled, and nothing accepted up to RefusedUntil
/// is stored any more. Number rises with each renewal and adoption. Renewed, it closes earlier epochs of the instance
/// ProvenTerminated (empty: nothing is proven), and expired ones if told so. UsesFallback is for good.
/// Reading is how the instance does, as JSON.
/// </summary>
internal sealed record RenewalArgs(
    int Epoch, TimeSpan Duration, DateTime LowWaterMark, DateTime RefusedUntil, long Number, string ProvenTerminated,
    bool CloseExpired, bool UsesFallback = false, string? Reading = null);

/// <summary>What came of a renewal, and the state of the ledger. IsOpen false: the epoch is lost for good.</summary>
internal sealed record RenewalRow(
    bool Renewed, bool IsOpen, int Generation, int Resets, DateTime? ResetAt, bool Intact)
{
    public LedgerState Ledger => new(Generation, Resets, ResetAt, Intact);
}

/// <summary>How an instance did so many seconds ago, by the database's clock.</summary>
/// <param name="Instance">Its identity: no two instances that are up have the same.</param>
/// <param name="Reading">JSON.</param>
internal sealed record ReadingRow(int Epoch, string Instance, string Reading, double AgeSeconds);

/// <summary>
/// A page of the payments of Epoch for the epoch To: Rows are read, settled ones among them, and Limit adopted at most.
/// Number rises with each renewal and adoption.
/// </summary>
internal sealed record AdoptArgs(
    int Epoch, int To, DateTime LowWaterMark, int Limit, long Number = 0, int Rows = LeaseStore.RowsMax);

/// <summary>Next is where the search goes on; null is the end. The rest is null where nothing was adopted.</summary>
internal sealed record AdoptedRow(
    DateTime? Next, Guid? CorrelationId, long? AmountCents, DateTime? AcceptedAt, int? OwnerEpoch, short? Handover)
{
    public StoredPayment Stored =>
        new(CorrelationId!.Value, AmountCents!.Value, AcceptedAt!.Value, OwnerEpoch!.Value, Handover!.Value);
}

/// <summary>What was adopted of a page, and where the next page begins; null is the end.</summary>
internal sealed record AdoptedPage(List<StoredPayment> Payments, DateTime? Next);

/// <summary>What a clean stop hands over; Rows are read by one statement.</summary>
internal sealed record ReleaseArgs(
    int Epoch, DateTime LowWaterMark, Guid[] InDoubt, int Rows = LeaseStore.RowsMax);

/// <summary>How many payments of a page were released, and where the next page begins; null is the end.</summary>
internal sealed record ReleasedRow(long Released, DateTime? Next);

using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>Leases and changes of payments' owners, by the database's clock alone.</summary>
/// <param name="leases">The keeper's own connections, because a wait for others must not cost the lease.</param>
/// <param name="shared">For statements that may take longer.</param>
/// <param name="batches">For adoptions: a statement that waits for one of these was not sent.</param>
internal sealed class LeaseStore(
    [FromKeyedServices(LeaseStore.Leases)] SharedConnections leases, SharedConnections shared,
    BatchConnections batches)
{
    public const string Leases = "leases";

    // When two instances register names at once, one finds its number taken.
    private const int RegisterTries = 5;

    // No sequence, because a gap would waste one of the 14 numbers.
    private const string RegisterSql = """
        WITH named AS (
            INSERT INTO processors (id, name)
            SELECT new.id, new.name FROM (
                SELECT (SELECT max(id) FROM processors) + row_number() OVER () AS id, name
                FROM unnest(@Names) AS given (name)
                WHERE NOT EXISTS (SELECT 1 FROM processors WHERE processors.name = given.name)) AS new
            WHERE new.id <= 14
            ON CONFLICT DO NOTHING
            RETURNING id, name
        ), polled AS (INSERT INTO processor_health (processor) SELECT id FROM named ON CONFLICT DO NOTHING)
        SELECT id, name FROM named UNION ALL SELECT id, name FROM processors WHERE name = ANY(@Names)
        """;

    private const string OpenSql = """
        INSERT INTO leases (instance, expires_at, processors, used_processors)
        VALUES (@Instance, now() + @Duration, @Processors, @UsedProcessors)
        RETURNING epoch
        """;

    private const string OtherProcessorsSql = """
        SELECT instance, processors FROM leases
        WHERE closed_at IS NULL AND expires_at > now() AND epoch <> @Epoch AND instance <> @ProvenTerminated
          AND processors <> @Processors
        ORDER BY epoch LIMIT 1
        """;

    // A closed epoch can neither renew nor store, so its payments are a fixed set. A lease whose row is locked waits
    // for the next renewal.
    private const string RenewalSql = """
        WITH renewed AS (
            UPDATE leases SET expires_at = now() + @Duration, low_water_mark = @LowWaterMark, renewal = @Number,
                              used_processors = used_processors | @UsedProcessors
            WHERE epoch = @Epoch AND closed_at IS NULL AND renewal < @Number RETURNING epoch
        ), refused AS (
            UPDATE open_epochs SET refused_until = @RefusedUntil
            WHERE epoch IN (SELECT epoch FROM renewed) AND refused_until < @RefusedUntil
        ), ended AS (
            SELECT epoch FROM leases
            WHERE closed_at IS NULL AND epoch <> @Epoch AND EXISTS (SELECT 1 FROM renewed)
              AND ((@CloseExpired AND expires_at < now()) OR (instance = @ProvenTerminated AND epoch < @Epoch))
            FOR UPDATE SKIP LOCKED
        ), closed AS (
            UPDATE leases SET closed_at = now() WHERE epoch IN (SELECT epoch FROM ended)
        )
        SELECT EXISTS (SELECT 1 FROM renewed) AS renewed,
               EXISTS (SELECT 1 FROM leases WHERE epoch = @Epoch AND closed_at IS NULL) AS is_open,
               generation, resets, reset_at, EXISTS (SELECT 1 FROM ledger_intact) AS intact
        FROM ledger WHERE id = 1
        """;

    private const string ReadSql = """
        INSERT INTO instance_readings (epoch, reading, read_at) VALUES (@Epoch, @Reading, now())
        ON CONFLICT (epoch) DO UPDATE SET reading = excluded.reading, read_at = excluded.read_at
        """;

    // The page /ops shows an instance that has ended as silent for a while.
    private const string ReadingsSql = """
        SELECT epoch, instance, reading, extract(epoch FROM now() - read_at)::float8 AS age_seconds
        FROM leases JOIN instance_readings USING (epoch)
        WHERE closed_at IS NULL OR read_at > now() - interval '30 seconds'
        """;

    // A statement locks its table before it takes its snapshot, and its transaction keeps the lock until its rows are
    // visible. So a transaction without a lock here is over, or begins with what is committed now
    // (docs/decisions/0011-a-broken-insert-is-asked-for-once.md).
    private const string WritersSql = "SELECT writer FROM unfinished_writers";

    private const string CloseSql = "UPDATE leases SET closed_at = now() WHERE epoch = @Epoch AND closed_at IS NULL";

    // Epoch 0 owns nothing most of the time, and an adoption of nothing costs more than this query.
    private const string OrphanedSql = $"""
        SELECT epoch, low_water_mark, used_processors FROM leases
        WHERE closed_at IS NOT NULL AND adopted_at IS NULL
          AND (epoch <> {Sql.Nobody} OR EXISTS (SELECT 1 FROM payments WHERE owner_epoch = {Sql.Nobody}))
        ORDER BY epoch
        """;

    // A page of an owner's payments by time. Settled ones count, otherwise many of them would make a statement slow.
    // The page has all payments of its last time, so that the next page begins after that.
    private const string Page = """
        SELECT correlation_id, accepted_at FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark
        ORDER BY accepted_at FETCH FIRST @Rows ROWS WITH TIES
        """;

    private const string NextPage = $"""
        (SELECT CASE WHEN count(*) >= @Rows THEN max(accepted_at) + interval '1 microsecond' END FROM ({Page}) AS page)
        """;

    // A row's set of processors plus those that its owner may have used.
    private const string WithUsed = "coalesce(may_be_at, 0::smallint) | owner.used_processors";

    private const string AdoptSql = $"""
        WITH claim AS (
            -- One adopter at a time, because two that move payments in different orders deadlock. If the lease row is
            -- locked, no row is returned. The lock timeout ends a wait for another transaction's payment, because the
            -- adopter's lease, which is locked below, must be renewed.
            SELECT epoch, used_processors FROM leases
            WHERE epoch = @Epoch AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), orphans AS (
            SELECT correlation_id, accepted_at FROM ({Page}) AS payments
            WHERE EXISTS (SELECT 1 FROM claim) AND {PaymentStore.IsUnsettled}
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
                    ELSE {NextPage} END AS next,
               moved.correlation_id, moved.amount_cents, moved.accepted_at, moved.owner_epoch, moved.may_be_at,
               moved.held_by
        FROM lowered LEFT JOIN moved ON true
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

    private const string ReleaseSql = $"""
        WITH released AS (
            UPDATE payments
            SET owner_epoch = {Sql.Nobody}, may_be_at = CASE
                WHEN correlation_id <> ALL(@InDoubt) THEN coalesce(may_be_at, 0)
                ELSE {WithUsed} END
            FROM leases AS owner
            WHERE epoch = @Epoch AND owner_epoch = @Epoch AND correlation_id IN (
                SELECT correlation_id FROM ({Page}) AS payments WHERE {PaymentStore.IsUnsettled})
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM released) AS released, {NextPage} AS next
        """;

    // After the backup any unsettled payment may have been charged anywhere, parked ones too, because the lost ledger
    // may have replayed them. An instance that still runs notices that
    // it has lost its epoch; no other gets its number.
    private const string DoubtAllSql = $"""
        WITH marked AS (
            UPDATE leases SET closed_at = coalesce(closed_at, now()), used_processors = used_processors
                | (SELECT sum(1 << id) FROM processors WHERE name = ANY(@Names))::smallint
            WHERE epoch <> {Sql.Nobody} RETURNING epoch
        ), released AS (
            {ParkedStore.PutBack} WHERE owner_epoch = {Sql.Nobody}
        ), parked AS (
            UPDATE payments SET may_be_at = {ParkedStore.AtAll} WHERE owner_epoch = {Sql.Parked}
        )
        SELECT count(*)::integer FROM marked
        WHERE (SELECT setval(pg_get_serial_sequence('leases', 'epoch'),
                             nextval(pg_get_serial_sequence('leases', 'epoch')) + 1000000)) > 0
        """;

    // Of the open leases, or of the last one.
    private const string ConfiguredSql = $"""
        SELECT processors FROM leases
        WHERE epoch <> {Sql.Nobody} AND (closed_at IS NULL OR epoch = (SELECT max(epoch) FROM leases))
        """;

    // What the server's ids of transactions mean for the feed (postgres/migrations).
    private const string MoveOnSql = "SELECT move_positions_on(@Restored)";

    /// <summary>Gives each name a permanent number.</summary>
    /// <returns>The names with numbers; a name is missing when all 14 numbers are in use.</returns>
    public async Task<List<ProcessorRow>> RegisterAsync(string[] names)
    {
        for (var attempt = 1; ; attempt++)
        {
            var rows = await leases.ListAsync(db => db.QueryAsync<ProcessorRow>(RegisterSql, new { Names = names }));
            if (rows.Count == names.Length || attempt == RegisterTries)
                return rows;
        }
    }

    /// <summary>The processors that the instances are configured with, as far as their leases say.</summary>
    public async Task<HashSet<string>> ConfiguredAsync() =>
        (await shared.ListAsync(db => db.QueryAsync<string>(ConfiguredSql)))
            .SelectMany(static all => all.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Select(static one => one.Split('=')[0]).ToHashSet(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// Closes every epoch of a restored ledger: each unsettled payment is in doubt at all processors, for any adopter.
    /// The feed of events goes on past the lost ledger's.
    /// </summary>
    /// <returns>How many epochs there are.</returns>
    public async Task<int> DoubtAllAsync(string[] names)
    {
        await RegisterAsync(names);
        await MoveOnAsync(shared, restored: true);
        return await shared.RunAsync(db => db.QuerySingleAsync<int>(DoubtAllSql, new { Names = names }));
    }

    /// <summary>Begins an epoch. The first one on another server moves the positions of events on.</summary>
    public async Task<int> OpenAsync(OpenLeaseArgs lease)
    {
        await MoveOnAsync(leases, restored: false);
        return await leases.RunAsync(db => db.QuerySingleAsync<int>(OpenSql, lease));
    }

    /// <summary>Another instance with a valid lease and other processors; null where none is.</summary>
    public Task<OtherProcessorsRow?> FindOtherProcessorsAsync(OtherProcessorsArgs processors) =>
        leases.RunAsync(db => db.QuerySingleOrDefaultAsync<OtherProcessorsRow>(OtherProcessorsSql, processors));

    /// <summary>Renews an epoch, and closes others that have ended, in one statement.</summary>
    public Task<RenewalRow> RenewAsync(RenewalArgs renewal) =>
        leases.RunAsync(db => db.QuerySingleAsync<RenewalRow>(RenewalSql, renewal));

    /// <summary>Writes an instance's reading, which no decision reads.</summary>
    public Task WriteReadingAsync(ReadingArgs reading) => shared.RunAsync(db => db.ExecuteAsync(ReadSql, reading));

    public Task<List<ReadingRow>> ReadingsAsync() => shared.ListAsync(db => db.QueryAsync<ReadingRow>(ReadingsSql));

    /// <summary>The closed epochs whose payments are perhaps not all adopted; 0 has the released payments.</summary>
    public Task<List<EpochRow>> OrphanedAsync() => shared.ListAsync(db => db.QueryAsync<EpochRow>(OrphanedSql));

    /// <summary>Moves the unsettled payments of a page to a new owner and returns them unsorted.</summary>
    /// <remarks>
    /// An adoption without an answer costs the adopter its epoch. On a multiplexed connection it could wait behind slow
    /// statements for longer than its own limit; here the server's limit of 5 s ends it with an answer.
    /// </remarks>
    /// <returns>Null when another adopter has the epoch, or the new owner is closed.</returns>
    public async Task<AdoptedPage?> AdoptPageAsync(AdoptArgs page)
    {
        var rows = await batches.ListAsync(db => db.QueryAsync<AdoptedRow>(AdoptSql, page));
        var moved = rows.FindAll(row => row.CorrelationId is not null);
        return rows.Count == 0 ? null : new AdoptedPage(moved.ConvertAll(row => row.Stored), rows[0].Next);
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

    private static Task<int> MoveOnAsync(SharedConnections through, bool restored) => through.RunAsync(
        db => db.ExecuteAsync(MoveOnSql, new { Restored = restored }));

    public Task CloseAsync(int epoch) => leases.RunAsync(db => db.ExecuteAsync(CloseSql, new { Epoch = epoch }));

    /// <summary>Releases what the epoch has not settled, and closes it; returns the number of payments.</summary>
    public async Task<int> ReleaseAsync(ReleaseArgs release)
    {
        try
        {
            var count = 0L;
            for (DateTime? from = release.LowWaterMark; from is { } next;)
            {
                var page = release with { LowWaterMark = next };
                var row = await shared.RunAsync(db => db.QuerySingleAsync<ReleasedRow>(ReleaseSql, page));
                (count, from) = (count + row.Released, row.Next);
            }

            return (int)count;
        }
        finally
        {
            // Last, because payments of a closed epoch are adopted as in doubt.
            await CloseAsync(release.Epoch);
        }
    }
}

internal sealed record ProcessorRow(short Id, string Name);

/// <summary>An epoch, and the bits of the processors that it may have charged at.</summary>
internal sealed record EpochRow(int Epoch, DateTime LowWaterMark, short UsedProcessors);

/// <summary>Processors has the name and URL of each, in order; UsedProcessors are the bits of a set.</summary>
internal sealed record OpenLeaseArgs(
    string Instance, TimeSpan Duration, string Processors = "", int UsedProcessors = 1 << 1);

/// <summary>Leases of the instance ProvenTerminated are valid no more; empty is none.</summary>
internal sealed record OtherProcessorsArgs(int Epoch, string ProvenTerminated, string Processors);

internal sealed record OtherProcessorsRow(string Instance, string Processors);

/// <summary>
/// Everything accepted before LowWaterMark is settled, and nothing accepted up to RefusedUntil is stored any more.
/// Number rises with each renewal and adoption. A renewal closes earlier epochs of the instance ProvenTerminated (empty
/// is none). UsedProcessors are the bits of a set, and stay for good.
/// </summary>
internal sealed record RenewalArgs(
    int Epoch, TimeSpan Duration, DateTime LowWaterMark, DateTime RefusedUntil, long Number, string ProvenTerminated,
    bool CloseExpired, int UsedProcessors = 0);

/// <summary>A renewal's outcome and the state of the ledger. IsOpen false: the epoch is lost for good.</summary>
internal sealed record RenewalRow(
    bool Renewed, bool IsOpen, int Generation, int Resets, DateTime? ResetAt, bool Intact)
{
    public LedgerState Ledger => new(Generation, Resets, ResetAt, Intact);
}

/// <summary>Reading is JSON.</summary>
internal sealed record ReadingArgs(int Epoch, string Reading);

/// <summary>An instance's reading, as JSON; Instance differs between any two running instances.</summary>
internal sealed record ReadingRow(int Epoch, string Instance, string Reading, double AgeSeconds);

/// <summary>A page of the payments of Epoch for the epoch To: Rows are read, and at most Limit adopted.</summary>
internal sealed record AdoptArgs(
    int Epoch, int To, DateTime LowWaterMark, int Limit, long Number = 0, int Rows = LeasingOptions.RowsMaxDefault);

/// <summary>Next is null at the end of the search; the rest is null where nothing was adopted.</summary>
internal sealed record AdoptedRow(
    DateTime? Next, Guid? CorrelationId, long? AmountCents, DateTime? AcceptedAt, int? OwnerEpoch, short? MayBeAt,
    short? HeldBy)
{
    public StoredPayment Stored =>
        new(CorrelationId!.Value, AmountCents!.Value, AcceptedAt!.Value, OwnerEpoch!.Value, MayBeAt, HeldBy);
}

/// <summary>Next is where the next page begins; null is the end, here and below.</summary>
internal sealed record AdoptedPage(List<StoredPayment> Payments, DateTime? Next);

internal sealed record ReleaseArgs(
    int Epoch, DateTime LowWaterMark, Guid[] InDoubt, int Rows = LeasingOptions.RowsMaxDefault);

internal sealed record ReleasedRow(long Released, DateTime? Next);

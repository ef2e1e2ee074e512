using Dapper;
using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>Leases of instances and the payments that change hands by them, by the database's clock alone.</summary>
/// <param name="leases">The keeper's own: what others wait for must not cost the lease.</param>
/// <param name="connections">For what moves payments, and may take longer.</param>
internal sealed class LeaseStore(
    [FromKeyedServices(LeaseStore.Leases)] SharedConnections leases, SharedConnections connections)
{
    /// <summary>Names the connections of the leases.</summary>
    public const string Leases = "leases";

    private const string OpenSql = """
        INSERT INTO leases (instance, expires_at, used_fallback) VALUES (@Instance, now() + @Duration, false)
        RETURNING epoch
        """;

    // Closing comes first and for good: a closed epoch can neither renew nor store, so its payments are a fixed set. A
    // lease that another one holds is left to it, and waits for the next renewal.
    private const string RenewalSql = """
        WITH renewed AS (
            UPDATE leases SET expires_at = now() + @Duration, low_water_mark = @LowWaterMark,
                              refused_until = greatest(refused_until, @RefusedUntil), renewal = @Number,
                              used_fallback = used_fallback OR @UsesFallback
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
               generation, resets, reset_at, EXISTS (SELECT FROM ledger_intact) AS intact,
               EXISTS (SELECT FROM watching WHERE id = 1 AND watched_until > now()) AS watched
        FROM ledger WHERE id = 1
        """;

    // Nothing is released most of the time, and adopting nothing costs more than this query.
    private const string OrphanedSql = $"""
        SELECT epoch, low_water_mark, epoch <> {Sql.Nobody} AND used_fallback AS used_fallback
        FROM leases
        WHERE closed_at IS NOT NULL AND adopted_at IS NULL
          AND (epoch <> {Sql.Nobody} OR EXISTS (SELECT FROM payments WHERE owner_epoch = {Sql.Nobody}))
        ORDER BY epoch
        """;

    // One adopter at a time: two that moved the same payments in another order would deadlock. Whoever finds the lease
    // row locked gets nothing. The owner is checked again in the UPDATE, as the snapshot may be older than the claim.
    // The adopter's own low-water mark is lowered in the same statement, or its death would leave older payments
    // unseen; an adopter that was closed meanwhile gets nothing, or they would belong to an epoch that nobody searches
    // any more. A closed epoch's mark of fallback is final. What it had adopted itself keeps the doubt it came with.
    // A payment that another transaction holds must not keep the adopter's own lease, which is locked here, from its
    // renewal.
    private const string AdoptSql = $"""
        WITH claim AS (
            SELECT epoch, used_fallback FROM leases
            WHERE epoch = @From AND (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ), orphans AS (
            SELECT correlation_id, accepted_at FROM payments
            WHERE owner_epoch = (SELECT epoch FROM claim) AND accepted_at >= @LowWaterMark
              AND {PaymentStore.IsUnsettled}
            ORDER BY accepted_at LIMIT @Limit
        ), lowered AS (
            UPDATE leases SET low_water_mark = least(low_water_mark, (SELECT min(accepted_at) FROM orphans)),
                              renewal = greatest(renewal, @Number)
            WHERE epoch = @To AND closed_at IS NULL RETURNING epoch
        )
        UPDATE payments SET owner_epoch = @To, handover = CASE
            WHEN @From = {Sql.Nobody} THEN greatest(handover, {Sql.Unsent})
            WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM claim) THEN {Sql.InDoubt}
            ELSE {Sql.InDoubtAtDefault} END
        WHERE correlation_id IN (SELECT correlation_id FROM orphans) AND owner_epoch = @From
          AND EXISTS (SELECT 1 FROM lowered)
        RETURNING correlation_id, amount_cents, accepted_at, owner_epoch, handover
        """;

    private const string MarkAdoptedSql = $"""
        UPDATE leases SET adopted_at = now()
        WHERE epoch = @Epoch AND epoch <> {Sql.Nobody} AND adopted_at IS NULL AND closed_at IS NOT NULL
          AND NOT EXISTS (
              SELECT 1 FROM payments
              WHERE owner_epoch = @Epoch AND accepted_at >= leases.low_water_mark AND {PaymentStore.IsUnsettled})
        """;

    // A statement locks its table before it takes its snapshot, and its transaction keeps the lock until what it did
    // can be seen. So who has no lock here begins with what is committed now, or is over
    // (docs/decisions/0011-a-broken-insert-is-asked-for-once.md).
    private const string WritersSql = """
        SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
        WHERE relation = 'payments'::regclass AND mode = 'RowExclusiveLock'
        """;

    // What is surely unsent may be adopted and sent at once, what is in doubt stays in doubt.
    private const string ReleaseSql = $"""
        UPDATE payments
        SET owner_epoch = {Sql.Nobody}, handover = CASE
            WHEN correlation_id <> ALL(@InDoubt) THEN greatest(handover, {Sql.Unsent})
            WHEN handover = {Sql.InDoubt} OR (SELECT used_fallback FROM leases WHERE epoch = @Epoch) THEN {Sql.InDoubt}
            ELSE {Sql.InDoubtAtDefault} END
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark AND {PaymentStore.IsUnsettled}
        """;

    private const string CloseSql = "UPDATE leases SET closed_at = now() WHERE epoch = @Epoch AND closed_at IS NULL";

    /// <summary>Begins a new epoch.</summary>
    public async Task<int> OpenAsync(string instance, TimeSpan duration)
    {
        var lease = new OpenLeaseArgs(instance, duration);
        return (await leases.RunAsync(
            connection => connection.QuerySingleAsync<EpochRow>(
                OpenSql, lease, commandTimeout: connection.CommandTimeout))).Epoch;
    }

    /// <summary>Renews an epoch, and closes others that have ended, in one statement.</summary>
    public Task<RenewalRow> RenewAsync(RenewalArgs renewal) =>
        leases.RunAsync(connection => connection.QuerySingleAsync<RenewalRow>(
            RenewalSql, renewal, commandTimeout: connection.CommandTimeout));

    /// <summary>The closed epochs whose payments have perhaps not all been adopted; 0 is what was released.</summary>
    public Task<List<OrphanedEpoch>> OrphanedAsync() =>
        connections.RunAsync(
            async connection => (await connection.QueryAsync<OrphanedEpoch>(
                OrphanedSql, commandTimeout: connection.CommandTimeout)).AsList());

    /// <summary>Moves a page of unsettled payments to a new owner and gives them, in no order.</summary>
    public Task<List<StoredPayment>> AdoptAsync(AdoptArgs page) =>
        connections.RunAsync(
            async connection => (await connection.QueryAsync<StoredPayment>(
                AdoptSql, page, commandTimeout: connection.CommandTimeout)).AsList());

    /// <summary>The transactions that write to payments now.</summary>
    public async Task<List<string>> WritersAsync() =>
        (await connections.RunAsync(
            async connection => (await connection.QueryAsync<WriterRow>(
                WritersSql, commandTimeout: connection.CommandTimeout)).AsList())).ConvertAll(row => row.Writer);

    /// <summary>
    /// Ends the search in a closed epoch that has nothing unsettled left; none of its statements may still run.
    /// </summary>
    public Task MarkAdoptedAsync(int epoch) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            MarkAdoptedSql, new EpochArgs(epoch), commandTimeout: connection.CommandTimeout));

    /// <summary>Ends an epoch for good; what it owns is to be adopted.</summary>
    public Task CloseAsync(int epoch) =>
        leases.RunAsync(connection => connection.ExecuteAsync(
            CloseSql, new EpochArgs(epoch), commandTimeout: connection.CommandTimeout));

    /// <summary>A clean stop: releases what the epoch has not settled, and closes it.</summary>
    /// <returns>How many payments were released.</returns>
    public async Task<int> ReleaseAsync(ReleaseArgs release)
    {
        try
        {
            return await connections.RunAsync(connection => connection.ExecuteAsync(
                ReleaseSql, release, commandTimeout: connection.CommandTimeout));
        }
        finally
        {
            // Last: from a closed epoch another instance would take them as in doubt.
            await CloseAsync(release.Epoch);
        }
    }
}

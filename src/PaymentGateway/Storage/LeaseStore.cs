using static PaymentGateway.Storage.Owners;

namespace PaymentGateway.Storage;

/// <summary>An instance's own lease, by the database's clock alone.</summary>
/// <param name="leases">The keeper's own connections, because a wait for others must not cost the lease.</param>
/// <param name="shared">For statements that may take longer.</param>
internal sealed class LeaseStore(
    [FromKeyedServices(LeaseStore.Leases)] SharedConnections leases, SharedConnections shared)
{
    public const string Leases = "leases";

    // When two instances register names at once, one finds its number taken.
    private const int RegisterTries = 5;

    // No sequence, because a gap would waste one of the 14 numbers. A processor without its row in processor_health
    // would never be polled, so a row that is missing is made again.
    private const string RegisterSql = """
        WITH named AS (
            INSERT INTO processors (id, name)
            SELECT new.id, new.name FROM (
                SELECT (SELECT max(id) FROM processors) + row_number() OVER (ORDER BY place) AS id, name
                FROM unnest(@Names) WITH ORDINALITY AS given (name, place)
                WHERE NOT EXISTS (SELECT 1 FROM processors WHERE processors.name = given.name)) AS new
            WHERE new.id <= 14
            ON CONFLICT DO NOTHING
            RETURNING id, name
        ), polled AS (INSERT INTO processor_health (processor) SELECT unnest(@Names) ON CONFLICT DO NOTHING)
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
        ), ended AS (
            SELECT epoch FROM leases
            WHERE closed_at IS NULL AND epoch <> @Epoch AND EXISTS (SELECT 1 FROM renewed)
              AND ((@CloseExpired AND expires_at < now()) OR (instance = @ProvenTerminated AND epoch < @Epoch)
                   OR epoch = ANY(@Former))
            FOR UPDATE SKIP LOCKED
        ), closed AS (
            UPDATE leases SET closed_at = now() WHERE epoch IN (SELECT epoch FROM ended)
        )
        SELECT EXISTS (SELECT 1 FROM renewed) AS renewed,
               EXISTS (SELECT 1 FROM leases WHERE epoch = @Epoch AND closed_at IS NULL) AS is_open,
               generation, resets, reset_at, EXISTS (SELECT 1 FROM ledger_intact) AS intact
        FROM ledger WHERE id = 1
        """;

    private const string IsClosedSql =
        "SELECT EXISTS (SELECT 1 FROM leases WHERE epoch = @Epoch AND closed_at IS NOT NULL)";

    private const string CloseSql = "UPDATE leases SET closed_at = now() WHERE epoch = @Epoch AND closed_at IS NULL";

    private const string ReleaseSql = $"""
        WITH rest AS MATERIALIZED (
            -- First, as in an adoption.
            {AdoptionStore.NextPage}
        ), released AS (
            UPDATE payments
            SET owner_epoch = {Sql.Nobody}, may_be_at = CASE
                WHEN correlation_id <> ALL(@InDoubt) THEN coalesce(may_be_at, 0)
                ELSE {AdoptionStore.WithUsed} END
            FROM leases AS owner
            WHERE epoch = @Epoch AND owner_epoch = @Epoch AND correlation_id IN (
                SELECT correlation_id FROM ({AdoptionStore.Page}) AS page WHERE is_unsettled)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM released) AS released, (SELECT next FROM rest) AS next
        """;

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

    /// <summary>Begins an epoch. The first one on another server moves the positions of events on.</summary>
    public async Task<int> OpenAsync(OpenLeaseArgs lease)
    {
        await EventStore.MoveOnAsync(leases, restored: false);
        return await leases.RunAsync(db => db.QuerySingleAsync<int>(OpenSql, lease));
    }

    /// <summary>Another instance with a valid lease and other processors; null where none is.</summary>
    public Task<OtherProcessorsRow?> FindOtherProcessorsAsync(OtherProcessorsArgs processors) =>
        leases.RunAsync(db => db.QuerySingleOrDefaultAsync<OtherProcessorsRow>(OtherProcessorsSql, processors));

    /// <summary>Renews an epoch, and closes others that have ended, in one statement.</summary>
    public Task<RenewalRow> RenewAsync(RenewalArgs renewal) =>
        leases.RunAsync(db => db.QuerySingleAsync<RenewalRow>(RenewalSql, renewal));

    public Task<bool> IsClosedAsync(int epoch) =>
        leases.RunAsync(db => db.QuerySingleAsync<bool>(IsClosedSql, new { Epoch = epoch }));

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

/// <summary>Processors has the name and URL of each, in order; UsedProcessors are the bits of a set.</summary>
internal sealed record OpenLeaseArgs(
    string Instance, TimeSpan Duration, string Processors = "", int UsedProcessors = 1 << 1);

/// <summary>Leases of the instance ProvenTerminated are valid no more; empty is none.</summary>
internal sealed record OtherProcessorsArgs(int Epoch, string ProvenTerminated, string Processors);

internal sealed record OtherProcessorsRow(string Instance, string Processors);

/// <summary>
/// Everything that the epoch took before LowWaterMark is settled, parked or another's. Number rises with each renewal
/// and adoption. A renewal closes earlier epochs of the instance ProvenTerminated (empty is none), and the epochs
/// Former of this one. UsedProcessors are the bits of a set, and stay for good.
/// </summary>
internal sealed record RenewalArgs(
    int Epoch, TimeSpan Duration, DateTime LowWaterMark, long Number, string ProvenTerminated, bool CloseExpired,
    int[] Former, int UsedProcessors = 0);

/// <summary>A renewal's outcome and the state of the ledger. IsOpen false: the epoch is lost for good.</summary>
internal sealed record RenewalRow(
    bool Renewed, bool IsOpen, int Generation, int Resets, DateTime? ResetAt, bool Intact)
{
    public LedgerState Ledger => new(Generation, Resets, ResetAt, Intact);
}

internal sealed record ReleaseArgs(
    int Epoch, DateTime LowWaterMark, Guid[] InDoubt, int Rows = LeasingOptions.RowsMaxDefault);

internal sealed record ReleasedRow(long Released, DateTime? Next);

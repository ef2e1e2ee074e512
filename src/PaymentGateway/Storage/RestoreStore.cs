using static PaymentGateway.Storage.Owners;

namespace PaymentGateway.Storage;

/// <summary>A ledger that was restored from a backup, before an instance serves it.</summary>
internal sealed class RestoreStore(SharedConnections shared, LeaseStore leases)
{
    // After the backup any unsettled payment may have been charged anywhere, parked ones too, because the lost ledger
    // may have replayed them. An instance that still runs notices that it has lost its epoch; no other gets its number.
    // The set of processors is read apart, because several servers change no table of one beside a table of all.
    private const string DoubtAllSql = $"""
        WITH used AS MATERIALIZED (SELECT {ParkedStore.AtAll} AS bits), marked AS (
            UPDATE leases SET closed_at = least(closed_at, now()),
                              used_processors = used_processors | (SELECT bits FROM used)
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
        await leases.RegisterAsync(names);
        await EventStore.MoveOnAsync(shared, restored: true);
        return await shared.RunAsync(db => db.QuerySingleAsync<int>(DoubtAllSql, new { Names = names }));
    }
}

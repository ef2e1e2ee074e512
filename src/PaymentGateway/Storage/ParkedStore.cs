using static PaymentGateway.Storage.Owners;

namespace PaymentGateway.Storage;

/// <summary>Payments that are set aside for an operator: no owner settles them, and none is dropped.</summary>
internal sealed class ParkedStore(SharedConnections shared, GatewayOptions options)
{
    private const string ParkSql = $"""
        WITH parked AS (
            UPDATE payments SET owner_epoch = {Sql.Parked}, parked_reason = @Reason, parked_at = now(),
                                attempts = @Attempts, may_be_at = @MayBeAt::smallint
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = @OwnerEpoch
            RETURNING correlation_id, accepted_at, amount_cents, parked_reason
        ), added AS (
            INSERT INTO payment_events (recorded_by, kind, correlation_id, accepted_at, amount_cents, reason)
            SELECT {EventStore.OwnPosition}, 'parked', correlation_id, accepted_at, amount_cents, parked_reason
            FROM parked
        )
        SELECT count(*) FROM parked
        """;

    // Bounded, because it runs each second.
    private const string CountSql = $"""
        SELECT reason, count(*) AS payments FROM (
            SELECT parked_reason AS reason FROM payments
            WHERE owner_epoch = {Sql.Parked} ORDER BY accepted_at LIMIT @Limit) AS oldest
        GROUP BY reason
        """;

    private const string Release = $"""
        UPDATE payments
        SET owner_epoch = {Sql.Nobody}, parked_reason = NULL, parked_at = NULL, attempts = NULL, may_be_at =
        """;

    public const string AtAll = "(SELECT sum(1 << id) FROM processors WHERE name = ANY(@Names))::smallint";

    /// <summary>
    /// Releases payments to any adopter, in doubt at all configured processors, so that it looks them up first.
    /// </summary>
    public const string PutBack = $"{Release} {AtAll}";

    // A payment was nowhere but at the processor that rejected it, so the adopter charges it there again. At all, it
    // would go to another one where nothing proves that this has not stored it. A sum, because a database of several
    // servers takes no CASE over a subquery in an UPDATE.
    private const string Replay = $"""
        {Release} may_be_at + (may_be_at = 0)::integer * {AtAll}
        """;

    private const string AddReplayed = $"""
        INSERT INTO payment_events (recorded_by, kind, correlation_id, accepted_at, amount_cents)
        SELECT {EventStore.OwnPosition}, 'replayed', correlation_id, accepted_at, amount_cents FROM replayed
        """;

    private const string ReplaySql = $"""
        WITH replayed AS (
            {Replay} WHERE correlation_id = @Id AND owner_epoch = {Sql.Parked}
            RETURNING correlation_id, accepted_at, amount_cents
        ), added AS ({AddReplayed})
        SELECT count(*) FROM replayed
        """;

    // One replay at a time, by a lock on epoch 0, because two could lock one page in different orders. The second finds
    // nothing parked in it.
    private const string ReplayPageSql = $"""
        WITH claim AS (SELECT epoch FROM leases WHERE epoch = {Sql.Nobody} FOR UPDATE), page AS (
            SELECT correlation_id FROM payments
            WHERE EXISTS (SELECT 1 FROM claim) AND owner_epoch = {Sql.Parked}
              AND (accepted_at, correlation_id) > (@AcceptedAt, @Id)
              AND (@Reason::text IS NULL OR parked_reason = @Reason)
            ORDER BY accepted_at, correlation_id LIMIT @Limit
        ), replayed AS (
            {Replay} WHERE correlation_id IN (SELECT correlation_id FROM page) AND owner_epoch = {Sql.Parked}
            RETURNING correlation_id, accepted_at, amount_cents
        ), added AS ({AddReplayed})
        SELECT accepted_at, correlation_id AS id FROM replayed
        """;

    /// <summary>Parks a payment.</summary>
    /// <returns>False when it is no longer this owner's, so nothing was done.</returns>
    public async Task<bool> ParkAsync(ParkArgs parking) =>
        await shared.RunAsync(db => db.QuerySingleAsync<long>(ParkSql, parking)) == 1;

    /// <summary>Counts the oldest <paramref name="limit"/> parked payments by their reasons.</summary>
    public Task<List<ParkedCountRow>> CountAsync(int limit) =>
        shared.ListAsync(db => db.QueryAsync<ParkedCountRow>(CountSql, new { Limit = limit }));

    /// <summary>Releases a parked payment to any adopter.</summary>
    /// <returns>False when no such payment is parked.</returns>
    public async Task<bool> ReplayAsync(Guid id) =>
        await shared.RunAsync(db => db.QuerySingleAsync<long>(
            ReplaySql, new { Id = id, options.Processors.Names })) == 1;

    /// <summary>Releases a page of parked payments to any adopter; returns their cursors unsorted.</summary>
    public Task<List<PaymentCursor>> ReplayPageAsync(PaymentCursor after, string? reason, int limit) =>
        shared.ListAsync(db => db.QueryAsync<PaymentCursor>(
            ReplayPageSql,
            new { after.AcceptedAt, after.Id, Reason = reason, Limit = limit, options.Processors.Names }));
}

/// <summary>MayBeAt are the bits of the set of processors that may have the payment.</summary>
internal sealed record ParkArgs(
    Guid Id, DateTime AcceptedAt, int OwnerEpoch, string Reason, short? Attempts = null, int MayBeAt = 0);

internal sealed record ParkedCountRow(string Reason, long Payments);

/// <summary>How many payments are parked, for a gauge that may not wait for the database. Any thread.</summary>
internal sealed class ParkedCount(ParkedStore store)
{
    public const int CountMax = 10_000;

    private readonly object _gate = new();
    private Task _asking = Task.CompletedTask;
    private long? _latest;

    /// <summary>The last count, null before the first one; starts a new query for later calls.</summary>
    public long? Read()
    {
        lock (_gate)
        {
            if (_asking.IsCompleted)
                _asking = AskAsync();
            return _latest;
        }
    }

    // A failure is ignored, because the next call asks again.
    private async Task AskAsync()
    {
        var reasons = await store.CountAsync(CountMax);
        lock (_gate)
            _latest = reasons.Sum(reason => reason.Payments);
    }
}

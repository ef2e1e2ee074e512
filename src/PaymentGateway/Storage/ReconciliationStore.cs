using System.Data;
using static PaymentGateway.Storage.Owners;

namespace PaymentGateway.Storage;

/// <summary>
/// The ledger as one reconciliation reads and corrects it, on a connection of its own. That connection holds the lock
/// of reconciliations, so one that has lost the lock can write nothing. Each correction is one statement that takes
/// effect only where the ledger still is as it was read, and corrects the totals too.
/// </summary>
/// <remarks>
/// Corrections change the totals of epoch 0, as instances without a lease do; both lock the rows in one order. Payments
/// are locked before settlements, as a purge does; after a purge the generation differs, and nothing is corrected. The
/// totals count each settlement once, when it or its first acceptance was recorded, so a correction subtracts it.
/// </remarks>
internal sealed class ReconciliationStore : Db, IAsyncDisposable
{
    public const int WindowRowsMax = 1_000;

    // Schema changes lock 72616966.
    private const string LockSql = "SELECT pg_try_advisory_lock(72616967) AS taken";

    private const string UnlockSql = "SELECT pg_advisory_unlock(72616967) AS taken";

    // One statement for each owner, because a database of several servers cannot join a page of payments with leases.
    // PostgreSQL ends the transaction of an instance that freezes between two, otherwise purges would wait for it.
    private const string OwnersSql = """
        SELECT epoch, low_water_mark, used_processors FROM leases
        WHERE (@All OR adopted_at IS NULL)
          AND (SELECT set_config('idle_in_transaction_session_timeout', '1s', true)) IS NOT NULL
        UNION ALL SELECT -1, '-infinity', 0::smallint ORDER BY epoch DESC
        """;

    private const string OldestSql =
        "SELECT least((SELECT min(requested_at) FROM settlements), (SELECT min(accepted_at) FROM settlements)) AS at";

    private const string OldestOwnedSql = "SELECT min(accepted_at) AS at FROM payments WHERE owner_epoch = @Epoch";

    private const string IdOfProcessor = "(SELECT id FROM processors WHERE name = @Processor)";

    private const string SettledSql = $"""
        SELECT correlation_id, amount_cents, requested_at FROM settlements
        WHERE requested_at >= @From AND requested_at <= @To
          AND processor = {IdOfProcessor}
        ORDER BY requested_at LIMIT @Limit
        """;

    private const string AcceptedBeforeSql = """
        SELECT correlation_id, accepted_at, amount_cents,
               (SELECT (SELECT name FROM processors WHERE id = processor) FROM settlements
                WHERE settlements.accepted_at = payments.accepted_at
                  AND settlements.correlation_id = payments.correlation_id) AS processor
        FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at <= @AcceptedAt AND accepted_at >= @From
          AND (accepted_at, correlation_id) < (@AcceptedAt, @Id)
        ORDER BY accepted_at DESC, correlation_id DESC LIMIT @Limit
        """;

    private const string UnsettledSql = $"""
        SELECT correlation_id, accepted_at, amount_cents, NULL::text AS processor FROM payments
        WHERE owner_epoch = @Epoch AND accepted_at >= @LowWaterMark AND accepted_at <= @BeforeAt
          AND {PaymentStore.IsUnsettled}
        ORDER BY accepted_at LIMIT @Limit
        """;

    private const string IsSameLedger = "(SELECT generation FROM ledger WHERE id = 1) = @Generation";

    private const string IsAsRead = """
        accepted_at = @AcceptedAt AND correlation_id = @Id
          AND processor = (SELECT id FROM processors WHERE name = @WasProcessor)
          AND amount_cents = @WasCents AND requested_at = @WasRequestedAt
        """;

    // The event of the settlement as it was, in its place: a reader that comes later gets it with the same id, and the
    // correction after it.
    private const string KeepEvent = """
        kept AS (
            INSERT INTO payment_events (recorded_by, kind, correlation_id, accepted_at, amount_cents, processor,
                                        requested_at, occurred_at, recorded_at)
            SELECT recorded_by, 'settled', correlation_id, accepted_at, amount_cents, processor, requested_at,
                   requested_at, recorded_at
            FROM was WHERE recorded_by IS NOT NULL
        """;

    // First, because a database of several servers runs each part of a statement after those before it.
    private const string Was = $"""
        was AS MATERIALIZED (
            SELECT recorded_by, correlation_id, accepted_at, amount_cents, processor, requested_at, recorded_at
            FROM settlements WHERE {IsAsRead}
        )
        """;

    // An owner that settles the payment at this moment has the same key, so one of the two is stored.
    private const string RecordSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), recorded AS (
            INSERT INTO settlements
                (correlation_id, accepted_at, processor, amount_cents, requested_at, attempts, recorded_by)
            SELECT correlation_id, accepted_at, {IdOfProcessor}, @AmountCents, @RequestedAt, attempts,
                   {EventStore.OwnPosition} FROM payments
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND {IsSameLedger}
            ON CONFLICT (accepted_at, correlation_id) DO NOTHING
            RETURNING processor, requested_at, amount_cents, accepted_at
        ), unparked AS (
            UPDATE payments SET owner_epoch = @OwnerEpoch, parked_reason = NULL, parked_at = NULL, attempts = NULL
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = {Sql.Parked}
              AND EXISTS (SELECT 1 FROM recorded)
        ), changes AS (
            SELECT processor, requested_at, 1 AS requests, amount_cents AS cents FROM recorded
            WHERE {SettlementLedger.IsUncounted}
        ), added AS ({SettlementLedger.AddTotals})
        SELECT count(*) FROM recorded
        """;

    private const string CorrectSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), {Was}, corrected AS (
            UPDATE settlements
            SET processor = {IdOfProcessor}, amount_cents = @AmountCents, requested_at = @RequestedAt,
                recorded_by = NULL
            WHERE {IsAsRead} AND {IsSameLedger}
            RETURNING correlation_id, accepted_at, processor, requested_at, amount_cents
        ), changes AS (
            SELECT processor, requested_at, 1 AS requests, amount_cents AS cents FROM corrected
            UNION ALL
            SELECT (SELECT id FROM processors WHERE name = @WasProcessor), @WasRequestedAt, -1, -@WasCents
            FROM corrected
        ), added AS ({SettlementLedger.AddTotals}), event AS (
            INSERT INTO payment_events
                (recorded_by, kind, correlation_id, accepted_at, amount_cents, processor, requested_at)
            SELECT {EventStore.OwnPosition}, 'corrected', correlation_id, accepted_at, amount_cents, processor,
                   requested_at
            FROM corrected
        ), {KeepEvent} AND EXISTS (SELECT 1 FROM corrected))
        SELECT count(*) FROM corrected
        """;

    // All processors have just said that they do not have it, which is newer than a 422 of earlier.
    // An open epoch whose low-water mark is not past the payment may have it in memory, in doubt, and would charge it
    // beside its adopter (docs/decisions/0027-reconciliation.md). The payment comes first: if an adopter has locked its
    // row, its owner is compared again after the wait. The settlement is deleted only with it.
    private const string PutBackSql = $"""
        WITH locked_first AS (SELECT 1 FROM payments), {Was}, released AS (
            {ParkedStore.PutBack}, held_by = NULL
            WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = @WasOwner AND {IsSameLedger}
              AND NOT EXISTS (
                SELECT 1 FROM leases
                WHERE epoch = @WasOwner AND closed_at IS NULL AND low_water_mark <= @AcceptedAt)
              AND EXISTS (SELECT 1 FROM settlements WHERE {IsAsRead})
            RETURNING correlation_id, accepted_at, amount_cents
        ), removed AS (
            DELETE FROM settlements WHERE {IsAsRead} AND EXISTS (SELECT 1 FROM released)
            RETURNING processor, requested_at, amount_cents
        ), changes AS (
            SELECT processor, requested_at, -1 AS requests, -amount_cents AS cents FROM removed
        ), added AS ({SettlementLedger.AddTotals}), event AS (
            INSERT INTO payment_events (recorded_by, kind, correlation_id, accepted_at, amount_cents)
            SELECT {EventStore.OwnPosition}, 'corrected', correlation_id, accepted_at, amount_cents
            FROM released WHERE EXISTS (SELECT 1 FROM removed)
        ), {KeepEvent} AND EXISTS (SELECT 1 FROM removed))
        SELECT count(*) FROM removed
        """;

    private readonly NpgsqlDataSource _pool;
    private readonly NpgsqlConnection _connection;
    private bool _isLocked;

    private ReconciliationStore(NpgsqlDataSource pool, NpgsqlConnection connection) =>
        (_pool, _connection) = (pool, connection);

    /// <exception cref="NpgsqlException">The connection broke; Dapper would open it again without the lock.</exception>
    public NpgsqlConnection Connection => _connection.State == ConnectionState.Open
        ? _connection
        : throw new NpgsqlException("The connection with the lock of reconciliations broke.");

    /// <summary>Opens a connection and takes the lock; null when a reconciliation of any instance has it.</summary>
    /// <exception cref="NpgsqlException">PostgreSQL is unavailable.</exception>
    public static async Task<ReconciliationStore?> OpenAsync(GatewayOptions options)
    {
        // Nobody waits for the end of a statement that its client has given up. With keepalives the connection could
        // break between two statements.
        var pool = LedgerSetup.DataSource(
            $"{options.Ledger.ConnectionString};Multiplexing=false;Pooling=false;Cancellation Timeout=-1;Keepalive=0",
            "reconciliation", synchronousCommit: options.Ledger.Durable);
        var store = new ReconciliationStore(pool, pool.CreateConnection());
        try
        {
            await store._connection.OpenAsync();
            store._isLocked = await store.RunAsync(db => db.QuerySingleAsync<bool>(LockSql));
            if (store._isLocked)
                return store;
        }
        catch
        {
            await store.DisposeAsync();
            throw;
        }

        await store.DisposeAsync();
        return null;
    }

    public Task<LedgerState> StateAsync() =>
        RunAsync(db => db.QuerySingleAsync<LedgerState>(LedgerStateStore.StateSql));

    /// <summary>When the first payment was accepted or charged, UTC; null in an empty ledger.</summary>
    public async Task<DateTime?> OldestAsync()
    {
        var oldest = await RunAsync(db => db.QuerySingleAsync<DateTime?>(OldestSql));
        foreach (var owner in await OwnersAsync(all: true))
            if (await RunAsync(db => db.QuerySingleAsync<DateTime?>(
                    OldestOwnedSql, new { owner.Epoch })) is { } first
                && !(first >= oldest))
                oldest = first;
        return oldest;
    }

    /// <inheritdoc cref="SummaryStore.SumAsync(DateTime?, DateTime?)"/>
    public Task<List<TotalsRow>> SumAsync(DateTime from, DateTime to) => SummaryStore.SumAsync(this, from, to);

    /// <summary>The settlements of a processor in a window, at most one more than WindowRowsMax.</summary>
    public Task<List<SettledRow>> SettledAsync(DateTime from, DateTime to, Processor processor) =>
        ListAsync(db => db.QueryAsync<SettledRow>(
            SettledSql, new { From = from, To = to, Processor = processor.Name, Limit = WindowRowsMax + 1 }));

    /// <summary>A page of payments in any state, the last accepted first.</summary>
    public Task<List<CandidateRow>> AcceptedBeforeAsync(PaymentCursor before, int limit) =>
        // All owners, because this looks for payments that their owner has forgotten.
        OfOwnersAsync(all: true, CandidateRow.NewestFirst, limit, (db, owner, last) => db.QueryAsync<CandidateRow>(
            AcceptedBeforeSql,
            new { owner.Epoch, From = last ?? DateTime.UnixEpoch, before.AcceptedAt, before.Id, Limit = limit }));

    /// <summary>Unsettled and parked payments, the oldest first.</summary>
    /// <returns>Null when a statement takes too long, because many settled ones lie between them.</returns>
    public async Task<List<CandidateRow>?> UnsettledAsync(DateTime before, int limit)
    {
        try
        {
            return await OfOwnersAsync(
                all: false, CandidateRow.OldestFirst, limit, (db, owner, last) => db.QueryAsync<CandidateRow>(
                    UnsettledSql,
                    new { owner.Epoch, owner.LowWaterMark, BeforeAt = last ?? before, Limit = limit }));
        }
        catch (PostgresException slow) when (slow.SqlState == PostgresErrorCodes.QueryCanceled)
        {
            return null;
        }
    }

    public Task<PaymentRow?> FindAsync(Guid id) =>
        RunAsync(db => db.QuerySingleOrDefaultAsync<PaymentRow>(PaymentQueryStore.FindSql, new { Id = id }));

    /// <summary>Records a payment as settled; false when it is settled by now, or purged.</summary>
    /// <exception cref="DbException">The outcome is unknown.</exception>
    public async Task<bool> RecordAsync(RecordHeldArgs held) =>
        await RunAsync(db => db.QuerySingleAsync<long>(RecordSql, held)) == 1;

    /// <summary>Corrects a settlement; false when it has changed or was purged.</summary>
    /// <inheritdoc cref="RecordAsync"/>
    public async Task<bool> CorrectAsync(CorrectArgs settlement) =>
        await RunAsync(db => db.QuerySingleAsync<long>(CorrectSql, settlement)) == 1;

    /// <summary>Deletes a settlement and releases the payment to any adopter, in doubt at all processors.</summary>
    /// <returns>False when it has changed or was purged, or an instance may have it in memory.</returns>
    /// <inheritdoc cref="RecordAsync"/>
    public async Task<bool> PutBackAsync(PutBackArgs settlement) =>
        await RunAsync(db => db.QuerySingleAsync<long>(PutBackSql, settlement)) == 1;

    /// <summary>Releases the lock and ends the connection. The next reconciliation may begin then.</summary>
    public async ValueTask DisposeAsync()
    {
        try
        {
            // Otherwise the lock would end some time later, when the server ends the closed connection.
            if (_isLocked && _connection.State == ConnectionState.Open)
                await RunAsync(db => db.QuerySingleAsync<bool>(UnlockSql));
        }
        catch (Exception broken) when (broken is NpgsqlException or TimeoutException)
        {
            // The lock ends with the connection.
        }

        await _connection.DisposeAsync();
        await _pool.DisposeAsync();
    }

    // The epochs that may own payments, and -1 for parked ones.
    private Task<List<EpochRow>> OwnersAsync(bool all) =>
        ListAsync(db => db.QueryAsync<EpochRow>(OwnersSql, new { All = all }));

    /// <summary>The first payments of all owners, in one snapshot, because payments change owners.</summary>
    /// <param name="all">Includes owners whose payments are all settled.</param>
    /// <param name="page">Reads a page of one owner, up to the last wanted time; null is all.</param>
    private async Task<List<CandidateRow>> OfOwnersAsync(
        bool all, Comparer<CandidateRow> order, int limit,
        Func<NpgsqlConnection, EpochRow, DateTime?, Task<IEnumerable<CandidateRow>>> page)
    {
        var rows = new List<CandidateRow>();
        await using var snapshot = await Connection.BeginTransactionAsync(IsolationLevel.RepeatableRead);
        foreach (var owner in await OwnersAsync(all))
        {
            DateTime? last = rows.Count < limit ? null : rows[^1].AcceptedAt;
            rows.AddRange(await ListAsync(db => page(db, owner, last)));
            rows.Sort(order);
            if (rows.Count > limit)
                rows.RemoveRange(limit, rows.Count - limit);
        }

        return rows;
    }

    protected override Task<TResult> OnConnectionAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement) =>
        statement(Connection);
}

internal sealed record SettledRow(Guid CorrelationId, long AmountCents, DateTime RequestedAt);

internal sealed record CandidateRow(Guid CorrelationId, DateTime AcceptedAt, long AmountCents, string? Processor)
{
    public static readonly Comparer<CandidateRow> OldestFirst = Comparer<CandidateRow>.Create(
        (one, other) => one.AcceptedAt.CompareTo(other.AcceptedAt) is not 0 and var order
            ? order
            : one.CorrelationId.CompareTo(other.CorrelationId));

    public static readonly Comparer<CandidateRow> NewestFirst = Comparer<CandidateRow>.Create(
        (one, other) => OldestFirst.Compare(other, one));

    public PaymentCursor Cursor => new(AcceptedAt, CorrelationId);
}

/// <summary>OwnerEpoch then owns a parked payment; Epoch is that of the totals, here and below.</summary>
internal sealed record RecordHeldArgs(
    Guid Id, DateTime AcceptedAt, string Processor, long AmountCents, DateTime RequestedAt, int Generation,
    int OwnerEpoch, int Epoch = Nobody);

/// <summary>A settlement as it was read, and as its processor has it.</summary>
internal sealed record CorrectArgs(
    Guid Id, DateTime AcceptedAt, string WasProcessor, long WasCents, DateTime WasRequestedAt, string Processor,
    long AmountCents, DateTime RequestedAt, int Generation, int Epoch = Nobody);

/// <summary>Names are the processors at which an adopter looks the payment up.</summary>
internal sealed record PutBackArgs(
    Guid Id, DateTime AcceptedAt, int WasOwner, string WasProcessor, long WasCents, DateTime WasRequestedAt,
    int Generation, string[] Names, int Epoch = Nobody);

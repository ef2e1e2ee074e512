using System.Data;
using Dapper;
using Npgsql;
using PaymentGateway.Configuration;

namespace PaymentGateway.Storage;

/// <summary>
/// The ledger as one reconciliation reads it, on a connection of its own: the batches and the leases keep theirs. The
/// same connection holds the lock that makes it the only one, so one that has lost the lock can write nothing.
/// </summary>
internal sealed class ReconciliationStore : IAsyncDisposable
{
    /// <summary>The most settlements that are read of a millisecond.</summary>
    public const int WindowRowsMax = 1_000;

    // Schema changes lock the number before.
    private const string LockSql = "SELECT pg_try_advisory_lock(72616967) AS taken";

    private const string UnlockSql = "SELECT pg_advisory_unlock(72616967) AS taken";

    private const string OldestSql = """
        WITH locked_first AS (SELECT FROM payments)
        SELECT least(
            (SELECT min(requested_at) FROM settlements), (SELECT min(accepted_at) FROM settlements),
            (SELECT min(first.accepted_at) FROM (SELECT epoch FROM leases UNION ALL SELECT -1) AS owners
             CROSS JOIN LATERAL (
                SELECT accepted_at FROM payments WHERE owner_epoch = owners.epoch
                ORDER BY accepted_at LIMIT 1) AS first)) AS at
        """;

    private const string SettledSql = """
        SELECT correlation_id, amount_cents, requested_at FROM settlements
        WHERE requested_at >= @From AND requested_at <= @To AND processor = @Processor
        ORDER BY requested_at LIMIT @Limit
        """;

    private const string OtherProcessor = """
        (SELECT processor FROM settlements WHERE settlements.accepted_at = page.accepted_at
           AND settlements.correlation_id = page.correlation_id) AS processor
        """;

    // Whoever owns them: what an owner has forgotten is what is looked for.
    private const string AcceptedBeforeSql = $"""
        SELECT correlation_id, accepted_at, amount_cents, {OtherProcessor} FROM (
            SELECT owned.* FROM (SELECT epoch FROM leases UNION ALL SELECT -1) AS owners
            CROSS JOIN LATERAL (
                SELECT correlation_id, accepted_at, amount_cents FROM payments
                WHERE owner_epoch = owners.epoch AND accepted_at <= @BeforeAt
                  AND (accepted_at, correlation_id) < (@BeforeAt, @BeforeId)
                ORDER BY accepted_at DESC, correlation_id DESC LIMIT @Limit) AS owned
            ORDER BY accepted_at DESC, correlation_id DESC LIMIT @Limit) AS page
        ORDER BY accepted_at DESC, correlation_id DESC
        """;

    private const string UnsettledSql = $"""
        SELECT unsettled.*, NULL::smallint AS processor FROM (
            SELECT epoch, low_water_mark FROM leases WHERE adopted_at IS NULL
            UNION ALL SELECT -1, '-infinity') AS owners
        CROSS JOIN LATERAL (
            SELECT correlation_id, accepted_at, amount_cents FROM payments
            WHERE owner_epoch = owners.epoch AND accepted_at >= owners.low_water_mark
              AND accepted_at <= @BeforeAt AND {PaymentStore.IsUnsettled}
            ORDER BY accepted_at LIMIT @Limit) AS unsettled
        ORDER BY accepted_at LIMIT @Limit
        """;

    private readonly NpgsqlDataSource _pool;
    private readonly NpgsqlConnection _connection;
    private bool _isLocked;

    private ReconciliationStore(NpgsqlDataSource pool, NpgsqlConnection connection) =>
        (_pool, _connection) = (pool, connection);

    /// <summary>For the statements that correct the ledger.</summary>
    /// <exception cref="NpgsqlException">It broke: Dapper would open it again, without the lock.</exception>
    public NpgsqlConnection Connection => _connection.State == ConnectionState.Open
        ? _connection
        : throw new NpgsqlException("The connection with the lock of reconciliations broke.");

    /// <summary>Opens a connection and takes the lock.</summary>
    /// <returns>Null when another reconciliation has it, at whatever instance.</returns>
    /// <exception cref="NpgsqlException">PostgreSQL is unavailable.</exception>
    public static async Task<ReconciliationStore?> OpenAsync(GatewayOptions options)
    {
        // One whose client was let go is broken off at once: nobody waits for its end. Kept alive, it could break
        // between two statements.
        var pool = LedgerSetup.DataSource(
            $"{options.Ledger};Multiplexing=false;Pooling=false;Cancellation Timeout=-1;Keepalive=0",
            "reconciliation");
        var store = new ReconciliationStore(pool, pool.CreateConnection());
        try
        {
            await store._connection.OpenAsync();
            var locked = await store.RunAsync(connection => connection.QuerySingleAsync<LockRow>(
                LockSql, commandTimeout: connection.CommandTimeout));
            store._isLocked = locked.Taken;
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

    /// <summary>Which ledger it is.</summary>
    public Task<LedgerState> StateAsync() => RunAsync(connection => connection.QuerySingleAsync<LedgerState>(
        LedgerStateStore.StateSql, commandTimeout: connection.CommandTimeout));

    /// <summary>When the first payment was accepted or charged, UTC; null in an empty ledger.</summary>
    public async Task<DateTime?> OldestAsync() =>
        (await RunAsync(connection => connection.QuerySingleAsync<OldestRow>(
            OldestSql, commandTimeout: connection.CommandTimeout))).At;

    /// <summary>Sums a window by requestedAt; both bounds are inclusive.</summary>
    public Task<List<TotalsRow>> SumAsync(DateTime from, DateTime to) =>
        RunAsync(connection => SettlementLedger.SumAsync(connection, from, to));

    /// <summary>What is settled at a processor in a window, one more than its limit at most.</summary>
    public Task<List<SettledRow>> SettledAsync(DateTime from, DateTime to, Processor processor)
    {
        var window = new SettledArgs(from, to, (int)processor, WindowRowsMax + 1);
        return RunAsync(async connection => (await connection.QueryAsync<SettledRow>(
            SettledSql, window, commandTimeout: connection.CommandTimeout)).AsList());
    }

    /// <summary>A page of payments in whatever state, the last accepted first.</summary>
    public Task<List<CandidateRow>> AcceptedBeforeAsync(PaymentCursor before, int limit)
    {
        var page = new AcceptedBeforeArgs(before.AcceptedAt, before.Id, limit);
        return RunAsync(async connection => (await connection.QueryAsync<CandidateRow>(
            AcceptedBeforeSql, page, commandTimeout: connection.CommandTimeout)).AsList());
    }

    /// <summary>What the owners have not settled and what is parked, the oldest first.</summary>
    /// <returns>Null when so many settled ones lie between them that a statement takes too long.</returns>
    public async Task<List<CandidateRow>?> UnsettledAsync(DateTime before, int limit)
    {
        var page = new AcceptedBeforeArgs(before, Guid.Empty, limit);
        try
        {
            return await RunAsync(async connection => (await connection.QueryAsync<CandidateRow>(
                UnsettledSql, page, commandTimeout: connection.CommandTimeout)).AsList());
        }
        catch (PostgresException slow) when (slow.SqlState == PostgresErrorCodes.QueryCanceled)
        {
            return null;
        }
    }

    /// <summary>A payment by its id; null when there is none.</summary>
    public Task<PaymentRow?> FindAsync(Guid id) =>
        RunAsync(connection => connection.QuerySingleOrDefaultAsync<PaymentRow>(
            PaymentQueryStore.FindSql, new PaymentIdArgs(id), commandTimeout: connection.CommandTimeout));

    /// <summary>Lets the lock go and ends the connection. The next reconciliation may begin then.</summary>
    public async ValueTask DisposeAsync()
    {
        try
        {
            // The server ends a connection some time after its client has closed it, and with it the lock.
            if (_isLocked && _connection.State == ConnectionState.Open)
                await RunAsync(connection => connection.QuerySingleAsync<LockRow>(
                    UnlockSql, commandTimeout: connection.CommandTimeout));
        }
        catch (Exception broken) when (broken is NpgsqlException or TimeoutException)
        {
            // It ends with the connection.
        }

        await _connection.DisposeAsync();
        await _pool.DisposeAsync();
    }

    private Task<T> RunAsync<T>(Func<NpgsqlConnection, Task<T>> statement) =>
        RowReading.RunAsync(() => statement(Connection));
}

/// <summary>Whether the lock was free.</summary>
internal sealed record LockRow(bool Taken);

/// <summary>UTC; null in an empty ledger.</summary>
internal sealed record OldestRow(DateTime? At);

/// <summary>A window of settlements at one processor; both bounds are inclusive.</summary>
internal sealed record SettledArgs(DateTime From, DateTime To, int Processor, int Limit);

/// <summary>A settlement.</summary>
internal sealed record SettledRow(Guid CorrelationId, long AmountCents, DateTime RequestedAt);

/// <summary>So many payments before a position.</summary>
internal sealed record AcceptedBeforeArgs(DateTime BeforeAt, Guid BeforeId, int Limit);

/// <summary>A payment that a processor may have; Processor is where the ledger has it settled.</summary>
internal sealed record CandidateRow(Guid CorrelationId, DateTime AcceptedAt, long AmountCents, short? Processor)
{
    public PaymentCursor Cursor => new(AcceptedAt, CorrelationId);
}

/// <summary>
/// What a processor holds of an unsettled payment, to be recorded in the ledger of this generation. A parked one is
/// OwnerEpoch's from then on.
/// </summary>
internal sealed record RecordHeldArgs(
    Guid Id, DateTime AcceptedAt, int Processor, long AmountCents, DateTime RequestedAt, int Generation,
    int OwnerEpoch);

/// <summary>A settlement as it was read, and as its processor has it.</summary>
internal sealed record CorrectArgs(
    Guid Id, DateTime AcceptedAt, int WasProcessor, long WasCents, DateTime WasRequestedAt, int Processor,
    long AmountCents, DateTime RequestedAt, int Generation);

/// <summary>A settlement as it was read, and its payment's owner then; no processor has it.</summary>
internal sealed record PutBackArgs(
    Guid Id, DateTime AcceptedAt, int WasOwner, int WasProcessor, long WasCents, DateTime WasRequestedAt,
    int Generation);

namespace PaymentGateway.Storage;

/// <summary>The state of the ledger: which generation it is, and whether a crash of the database reset it.</summary>
internal sealed class LedgerStateStore(SharedConnections shared)
{
    public const string StateSql = """
        SELECT generation, resets, reset_at, EXISTS (SELECT 1 FROM ledger_intact) AS intact, kept_from
        FROM ledger WHERE id = 1
        """;

    // Of several instances that find the row missing, one counts the reset.
    private const string MarkResetSql = """
        WITH marked AS (INSERT INTO ledger_intact (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING id)
        UPDATE ledger SET resets = resets + 1, reset_at = now(), kept_from = '-infinity',
                          removed_until = '-infinity', began_at = now()
        WHERE id = 1 AND EXISTS (SELECT 1 FROM marked)
        """;

    private const string UntilSql = "SELECT clock_timestamp() + @Within AS until";

    // One round trip and one transaction, which ends without its client. Tables are locked in the order of all other
    // statements, with a short wait, because others wait behind it. Past its deadline, by the database's clock, a purge
    // would delete what was acknowledged after its caller gave up.
    private const string PurgeSql = """
        SELECT set_config('payment_gateway.purge_until', @Until::text, true);
        DO $purge$ BEGIN
            SET LOCAL lock_timeout = '300ms';
            LOCK TABLE payments, settlements, settlement_totals, payment_events IN ACCESS EXCLUSIVE MODE;
            IF clock_timestamp() > current_setting('payment_gateway.purge_until')::timestamptz THEN
                RAISE EXCEPTION 'nobody waits for this purge any more' USING ERRCODE = 'query_canceled';
            END IF;
            TRUNCATE payments, settlements, settlement_totals, payment_events;
            UPDATE ledger SET generation = generation + 1, reset_at = NULL, kept_from = '-infinity',
                              removed_until = '-infinity', began_at = clock_timestamp() WHERE id = 1;
        END $purge$
        """;

    // nginx and its client wait little longer.
    private static readonly TimeSpan PurgeWithin = TimeSpan.FromSeconds(1.8);

    public Task<LedgerState> StateAsync() => shared.RunAsync(db => db.QuerySingleAsync<LedgerState>(StateSql));

    public Task MarkResetAsync() => shared.RunAsync(db => db.ExecuteAsync(MarkResetSql));

    /// <summary>The deadline of a purge that is asked for now, by the database's clock.</summary>
    public Task<DateTime> PurgeUntilAsync()
    {
        // A tenth less, because clocks do not run alike and the server must give up before its caller.
        var waited = shared.AnswerWithin * 0.9;
        var within = waited < PurgeWithin ? waited : PurgeWithin;
        return shared.RunAsync(db => db.QuerySingleAsync<DateTime>(UntilSql, new { Within = within }));
    }

    /// <summary>Empties the ledger and begins a new one.</summary>
    /// <param name="until">Of <see cref="PurgeUntilAsync"/>.</param>
    /// <param name="cancellation">
    /// The caller hung up. The deadline is not enough, because an instance that froze before asking gets a fresh one.
    /// </param>
    /// <exception cref="DbException">The purge failed, or its outcome is unknown; repeat.</exception>
    public Task PurgeAsync(DateTime until, CancellationToken cancellation = default) => shared.LockAsync(
        db => db.ExecuteAsync(PurgeSql, new { Until = until }), cancellation);
}

/// <summary>
/// Intact is false once after each crash that emptied the ledger. Settlements requested before KeptFrom are perhaps
/// deleted; not every statement reads it.
/// </summary>
internal sealed record LedgerState(
    int Generation, int Resets, DateTime? ResetAt, bool Intact, DateTime KeptFrom = default)
{
    /// <summary>Before it was read.</summary>
    public static readonly LedgerState Unknown = new(0, 0, null, Intact: true);

    /// <summary>Whether no purge and no crash has emptied the ledger in between.</summary>
    public bool IsOf(LedgerState other) => (Generation, Resets) == (other.Generation, other.Resets);
}

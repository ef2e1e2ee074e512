namespace PaymentGateway.Tests.Storage;

public sealed class ReconciliationStoreTests(TestDatabase database) : IClassFixture<TestDatabase>, IAsyncLifetime
{
    private ReconciliationStore _store = null!;

    public async Task InitializeAsync()
    {
        await database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals");
        await OpenAsync();
    }

    public async Task DisposeAsync()
    {
        if (_store is not null)
            await _store.DisposeAsync();
    }

    [PostgresFact]
    public async Task An_empty_ledger_has_no_oldest_payment() => Assert.Null(await _store.OldestAsync());

    // By a clock that was set back a charge may be older than every acceptance.
    [PostgresTheory]
    [InlineData("accepted_at = '2025-07-15 11:00Z'", "")]
    [InlineData($"accepted_at = '2025-07-15 11:00Z', {TestDatabase.Parked}", "")]
    [InlineData("accepted_at = '2025-07-15 12:30Z'", "accepted_at = '2025-07-15 11:00Z'")]
    [InlineData("accepted_at = '2025-07-15 12:30Z'", "requested_at = '2025-07-15 11:00Z'")]
    public async Task The_oldest_is_what_was_first_accepted_or_charged(string payment, string settlement)
    {
        var stored = await database.SettleAsync(await database.OpenEpochAsync(), 3);
        var chosen = $"WHERE correlation_id = '{stored.Ids[1]}'";
        await database.ExecuteAsync($"DELETE FROM settlements {chosen}; UPDATE payments SET {payment} {chosen}");
        if (settlement.Length > 0)
            await database.ExecuteAsync(
                $"UPDATE settlements SET {settlement} WHERE correlation_id = '{stored.Ids[2]}'");

        Assert.Equal(Batches.Noon.AddHours(-1), await _store.OldestAsync());
    }

    [PostgresFact]
    public async Task A_search_for_the_unsettled_that_takes_too_long_finds_nothing_and_says_so()
    {
        await _store.DisposeAsync();
        await OpenAsync(";Options=-c statement_timeout=1s");
        await using var stalling = await database.HoldAsync("LOCK TABLE payments IN ACCESS EXCLUSIVE MODE");

        Assert.Null(await _store.UnsettledAsync(Batches.Noon, 10));

        await stalling.ExecuteAsync("ROLLBACK");
        // Any statement here may take a second on a busy machine.
        await Eventually.HoldsAsync(
            async () => await _store.UnsettledAsync(Batches.Noon, 10) is { Count: 0 }, "it is searched again");
    }

    // The server drops a connection's temporary tables before it frees its locks, and this one cannot be dropped yet.
    [PostgresFact]
    public async Task The_next_one_begins_although_the_server_still_ends_the_connection_of_the_one_before()
    {
        await _store.Connection.ExecuteAsync("CREATE TEMPORARY TABLE kept (id int)");

        await using var keeping = await database.HoldAsync("""
            DO $$ BEGIN EXECUTE format('LOCK TABLE %s', (SELECT oid::regclass FROM pg_class
                WHERE relname = 'kept' AND relpersistence = 't')); END $$
            """);

        await _store.DisposeAsync();
        await OpenAsync(); // Null would say that another one has the lock.

        await keeping.ExecuteAsync("ROLLBACK");
    }

    private async Task OpenAsync(string settings = "")
    {
        var options = TestSettings.Read(("ConnectionStrings:Ledger", database.ConnectionString + settings));
        _store = Assert.IsType<ReconciliationStore>(await ReconciliationStore.OpenAsync(options));
    }
}

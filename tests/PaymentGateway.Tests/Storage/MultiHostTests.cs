namespace PaymentGateway.Tests.Storage;

/// <summary>A commit that only one server has, on a ledger that names several hosts.</summary>
public sealed class MultiHostTests(MultiHostTests.DurableServerDatabase database)
    : IClassFixture<MultiHostTests.DurableServerDatabase>
{
    private const string CommitSql = "SELECT pg_logical_emit_message(true, 'test', '')";

    private string MultiHost => database.ConnectionString.Replace(
        database.Server.Directory, $"{database.Server.Directory},{database.Server.Directory}",
        StringComparison.Ordinal);

    [PostgresFact]
    public async Task What_a_crash_left_on_one_server_does_not_count_before_its_standby_has_it()
    {
        await using var shared = LedgerSetup.Shared(LedgerSetup.DataSource(MultiHost), TimeProvider.System);
        await using var batches = LedgerSetup.Connections(MultiHost, 1);
        var ledger = new SettlementLedger(shared, batches);
        var stored = Batches.ToStore(Batches.SortedIds(3), await database.OpenEpochAsync());
        await new PaymentStore(shared, batches).StoreAsync(stored);

        await StandbyIsMissedAsync();
        var record = ledger.RecordAsync(Batches.ToRecord(stored));
        await WaitForStandbyAsync(2);
        await database.Server.CrashAsync();
        await Assert.ThrowsAnyAsync<NpgsqlException>(() => record);
        await database.StartAgainAsync();

        // There for whoever asks, and gone if the standby is promoted now.
        Assert.Equal(3, await database.ScalarAsync<long>("SELECT count(*) FROM settlements"));
        var again = ledger.RecordAsync(Batches.ToRecord(stored));
        var found = new PaymentStore(shared, batches).FindAsync(stored.Ids);
        await await Task.WhenAny(WaitForStandbyAsync(2), again, found);
        Assert.False(again.IsCompleted || found.IsCompleted, "an answer from one server alone");

        await SetStandbyAsync("RESET synchronous_standby_names");
        Assert.Equal(3, await again);
        Assert.Equal(3, (await found).Count);
    }

    [PostgresFact]
    public async Task A_commit_that_no_longer_waits_for_the_standby_is_not_told_as_done()
    {
        var impatient = $"{MultiHost};Command Timeout=1;Cancellation Timeout=2000";
        await using var open = LedgerSetup.DataSource(impatient);
        await using var connection = await open.OpenConnectionAsync();
        await StandbyIsMissedAsync();
        try
        {
            await Assert.ThrowsAnyAsync<NpgsqlException>(() => connection.ExecuteAsync(CommitSql));

            // Its first statement is such a commit.
            await using var another = LedgerSetup.DataSource(impatient);
            await Assert.ThrowsAnyAsync<NpgsqlException>(async () => await another.OpenConnectionAsync());
        }
        finally
        {
            await SetStandbyAsync("RESET synchronous_standby_names");
        }
    }

    [PostgresTheory]
    [InlineData("off")]
    [InlineData("local")]
    [InlineData("remote_write")]
    public async Task Commits_wait_for_the_standby_whatever_the_connection_string_says(string setting)
    {
        await using var source = LedgerSetup.DataSource($"{MultiHost};Options=-c synchronous_commit={setting}");
        await using var shown = source.CreateCommand("SHOW synchronous_commit");

        Assert.Equal("on", await shown.ExecuteScalarAsync());
    }

    /// <summary>Ends with the first commit that waits for a standby that there is not.</summary>
    private async Task StandbyIsMissedAsync()
    {
        await SetStandbyAsync("SET synchronous_standby_names = 'nobody'");
        var source = NpgsqlDataSource.Create($"{database.ConnectionString};Command Timeout=0;Pooling=false");
        var commit = Task.CompletedTask;
        await Eventually.HoldsAsync(
            async () =>
            {
                if (commit.IsCompleted)
                    commit = CommitAsync(source);
                return await WaitingAsync() == 1;
            },
            "a commit waits for a standby");
    }

    private static async Task CommitAsync(NpgsqlDataSource source)
    {
        await using var command = source.CreateCommand(CommitSql);
        await command.ExecuteNonQueryAsync();
    }

    private async Task SetStandbyAsync(string setting)
    {
        await database.ExecuteAsync($"ALTER SYSTEM {setting}");
        await database.ExecuteAsync("SELECT pg_reload_conf()");
    }

    private Task WaitForStandbyAsync(long commits) => Eventually.HoldsAsync(
        async () => await WaitingAsync() == commits, $"{commits} commits wait for the standby");

    private Task<long> WaitingAsync() =>
        database.ScalarAsync<long>("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");

    /// <summary>A server of its own that may have a standby, which the test may crash.</summary>
    public sealed class DurableServerDatabase : OwnServerDatabase
    {
        protected override Task<PostgresServer>? TakeServer() => PostgresServer.StartAsync(durable: true);

        protected override async Task PrepareAsync()
        {
            await Schema(durable: true).EnsureAsync();
            await ExecuteAsync("ALTER SYSTEM SET wal_level = replica");
            await ExecuteAsync("ALTER SYSTEM SET max_wal_senders = 1");
            await Server.StopAsync();
            await StartAgainAsync();
        }
    }
}

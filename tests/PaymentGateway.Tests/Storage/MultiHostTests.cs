namespace PaymentGateway.Tests.Storage;

/// <summary>A commit that only one server has, on a ledger that names one host or several.</summary>
public sealed class MultiHostTests(MultiHostTests.DurableServerDatabase database)
    : IClassFixture<MultiHostTests.DurableServerDatabase>, IAsyncLifetime
{
    private const string CommitSql = "SELECT pg_logical_emit_message(true, 'test', '')";

    private string MultiHost => database.ConnectionString.Replace(
        database.Server.Directory, $"{database.Server.Directory},{database.Server.Directory}",
        StringComparison.Ordinal);

    public Task InitializeAsync() => Task.CompletedTask;

    public Task DisposeAsync() => database.Server is null
        ? Task.CompletedTask : SetStandbyAsync("RESET synchronous_standby_names");

    private string OneHost => database.ConnectionString;

    private NpgsqlDataSource Source() => LedgerSetup.DataSource(OneHost, synchronousCommit: true);

    private BatchConnections Connections(int count) => LedgerSetup.Connections(OneHost, count, durable: true);

    [PostgresFact]
    public async Task What_a_crash_left_on_one_server_does_not_count_before_its_standby_has_it()
    {
        await using var shared = LedgerSetup.Shared(LedgerSetup.DataSource(MultiHost), TimeProvider.System);
        await using var batches = LedgerSetup.Connections(MultiHost, 2);
        var ledger = new SettlementLedger(shared, batches);
        var stored = Batches.ToStore(Batches.SortedIds(3), await database.OpenEpochAsync());
        await new PaymentStore(batches).StoreAsync(stored);

        await StandbyIsMissedAsync();
        var record = ledger.RecordAsync(Batches.ToRecord(stored));
        await WaitForStandbyAsync(2);
        await database.Server.CrashAsync();
        await Assert.ThrowsAnyAsync<NpgsqlException>(() => record);
        await database.StartAgainAsync();

        // There for whoever asks, and gone if the standby is promoted now.
        await StoredAsync(stored, "settlements");
        var again = ledger.RecordAsync(Batches.ToRecord(stored));
        var found = new PaymentStore(batches).FindAsync(stored.Ids);
        await await Task.WhenAny(WaitForStandbyAsync(2), again, found);
        Assert.False(again.IsCompleted || found.IsCompleted, "an answer from one server alone");

        await SetStandbyAsync("RESET synchronous_standby_names");
        Assert.Equal(3, await again);
        Assert.Equal(3, (await found).Count);
    }

    // An operator's pg_cancel_backend ends the wait, and PostgreSQL reports success with a warning.
    [PostgresFact]
    public async Task A_statement_whose_wait_for_the_standby_is_cancelled_is_not_told_as_done()
    {
        await using var shared = LedgerSetup.Shared(Source(), TimeProvider.System);
        await using var batches = Connections(4);
        await using var leases = LedgerSetup.Leases(OneHost, TimeSpan.FromMinutes(5), TimeProvider.System);
        var (payments, ledger) = (new PaymentStore(batches), new SettlementLedger(shared, batches));
        var epoch = await database.OpenEpochAsync();
        var settled = Batches.ToStore(Batches.SortedIds(3), epoch);
        var added = Batches.ToStore(Batches.SortedIds(3), epoch, Batches.Noon.AddHours(1));
        await payments.StoreAsync(settled);
        await OpenTwoAsync(batches);
        var renewal = new LeaseStore(leases, shared);
        await renewal.CloseAsync(-1);

        await StandbyIsMissedAsync();
        Task[] waiting =
        [
            payments.StoreAsync(added), ledger.RecordAsync(Batches.ToRecord(settled)), renewal.CloseAsync(epoch),
        ];
        await WaitForStandbyAsync(4);
        foreach (var cancelled in new[] { "INSERT INTO payments", "INTO settlements", "SET closed_at" })
            Assert.Equal(1, await CancelAsync(cancelled));

        foreach (var cancelled in waiting)
            Assert.Contains(
                "may be undone", (await Assert.ThrowsAsync<NpgsqlException>(() => cancelled)).Message,
                StringComparison.Ordinal);
    }

    // Whatever ended the first statement: Npgsql's time limit, an operator, a crash.
    [PostgresTheory]
    [InlineData("a known payment")]
    [InlineData("an outcome")]
    [InlineData("a page of the backlog")]
    public async Task What_is_found_instead_of_written_counts_only_once_the_standby_has_it(string what)
    {
        await using var shared = LedgerSetup.Shared(Source(), TimeProvider.System);
        await using var batches = Connections(4);
        var (payments, ledger) = (new PaymentStore(batches), new SettlementLedger(shared, batches));
        var epoch = await database.OpenEpochAsync();
        var settled = Batches.ToStore(Batches.SortedIds(3), epoch);
        var added = Batches.ToStore(Batches.SortedIds(3), epoch, Batches.Noon.AddHours(1));
        await payments.StoreAsync(settled);
        await OpenTwoAsync(batches);
        // The other instance, whose connection is older than the rows and lives on.
        await using var others = Connections(1);
        await others.RunAsync(db => db.ExecuteAsync("SELECT 1"));
        var (found, recorded) = (new PaymentStore(others), new SettlementLedger(shared, others));

        await StandbyIsMissedAsync();
        Task[] lost = [payments.StoreAsync(added), ledger.RecordAsync(Batches.ToRecord(settled))];
        await WaitForStandbyAsync(3);
        await database.ExecuteAsync(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
            + "AND query LIKE '%INTO%'");
        foreach (var one in lost)
            await Assert.ThrowsAnyAsync<NpgsqlException>(() => one);
        await StoredAsync(added);
        await StoredAsync(settled, "settlements");

        Func<Task<long>> find = what switch
        {
            "a known payment" => async () => (await found.FindAsync(added.Ids)).Count,
            "an outcome" => () => recorded.RecordAsync(Batches.ToRecord(settled)),
            _ => async () => (await found.UnsettledPageAsync(
                new UnsettledPageArgs(epoch, added.AcceptedAts[0], added.AcceptedAts[^1], 100))).Count,
        };
        var asked = find();
        await await Task.WhenAny(WaitForStandbyAsync(2), asked);
        Assert.False(asked.IsCompleted, $"{what}, from one server alone");

        await SetStandbyAsync("RESET synchronous_standby_names");
        Assert.Equal(3, await asked);
    }

    [PostgresFact]
    public async Task A_new_payment_and_a_new_outcome_are_one_commit_each()
    {
        await using var shared = LedgerSetup.Shared(Source(), TimeProvider.System);
        await using var batches = Connections(1);
        var (payments, ledger) = (new PaymentStore(batches), new SettlementLedger(shared, batches));
        var batch = Batches.ToStore(Batches.SortedIds(3), await database.OpenEpochAsync());
        await payments.FindAsync(batch.Ids);

        await database.ExecuteAsync("CREATE EXTENSION pg_walinspect");
        var before = await database.ScalarAsync<string>("SELECT pg_current_wal_insert_lsn()::text");
        await payments.StoreAsync(batch);
        await ledger.RecordAsync(Batches.ToRecord(batch));

        var messages = await database.ScalarAsync<long>($"""
            SELECT count(*) FROM pg_get_wal_records_info('{before}', pg_current_wal_flush_lsn())
            WHERE resource_manager = 'LogicalMessage'
            """);
        Assert.Equal(0, messages);
    }

    [PostgresFact]
    public async Task A_commit_that_no_longer_waits_for_the_standby_is_not_told_as_done()
    {
        var impatient = $"{MultiHost};Command Timeout=1;Cancellation Timeout=2000";
        await using var open = LedgerSetup.DataSource(impatient);
        await using var connection = await open.OpenConnectionAsync();
        await StandbyIsMissedAsync();
        await Assert.ThrowsAnyAsync<NpgsqlException>(() => connection.ExecuteAsync(CommitSql));

        // Its first statement is such a commit.
        await using var another = LedgerSetup.DataSource(impatient);
        await Assert.ThrowsAnyAsync<NpgsqlException>(async () => await another.OpenConnectionAsync());
    }

    [PostgresTheory]
    [InlineData("off")]
    [InlineData("local")]
    [InlineData("remote_write")]
    public async Task Commits_wait_for_the_standby_whatever_the_connection_string_says(string setting)
    {
        foreach (var hosts in new[] { OneHost, MultiHost, $"{OneHost};Multiplexing=true" })
        {
            await using var source = LedgerSetup.DataSource(
                $"{hosts};Options=-c synchronous_commit={setting}", synchronousCommit: true);
            await using var shown = source.CreateCommand("SHOW synchronous_commit");

            Assert.Equal("on", await shown.ExecuteScalarAsync());
        }
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

    // A new connection would begin with a commit, and wait itself.
    private static Task<int> OpenTwoAsync(BatchConnections batches) =>
        batches.RunAsync(_ => batches.RunAsync(db => db.ExecuteAsync("SELECT 1")));

    private Task StoredAsync(StoreArgs batch, string table = "payments") => Eventually.HoldsAsync(
        async () => await database.ScalarAsync<long>(
            $"SELECT count(*) FROM {table} WHERE correlation_id = '{batch.Ids[0]}'") == 1,
        "whoever asks sees the row that one server has");

    private Task<long> CancelAsync(string query) => database.ScalarAsync<long>(
        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
        + $"WHERE wait_event = 'SyncRep' AND query LIKE '%{query}%'");

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

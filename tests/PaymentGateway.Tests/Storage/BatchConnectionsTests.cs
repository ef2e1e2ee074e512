namespace PaymentGateway.Tests.Storage;

public sealed class BatchConnectionsTests(LocalTestDatabase database) : IClassFixture<LocalTestDatabase>
{
    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(2);

    [PostgresFact]
    public async Task Sequential_statements_use_one_server_process()
    {
        await using var connections = LedgerSetup.Connections(database.ConnectionString, 3);
        await OpenAllAsync(connections, 3);

        var processes = new HashSet<int>();
        for (var i = 0; i < 12; i++)
            processes.Add(await connections.RunAsync(ProcessAsync));

        Assert.Single(processes);
    }

    [PostgresFact]
    public async Task A_broken_connection_drops_the_idle_ones_too()
    {
        await using var connections = LedgerSetup.Connections(database.ConnectionString, 3);
        var processes = await OpenAllAsync(connections, 3);
        foreach (var process in processes)
            await database.ExecuteAsync($"SELECT pg_terminate_backend({process}, 5000)");

        await Assert.ThrowsAnyAsync<NpgsqlException>(() => connections.RunAsync(ProcessAsync));
        var after = await OpenAllAsync(connections, 3);

        Assert.Empty(after.Intersect(processes));
    }

    // A restart of PostgreSQL in a quiet minute, or its idle_session_timeout.
    [PostgresFact]
    public async Task A_connection_that_ended_in_a_quiet_time_fails_no_statement()
    {
        var clock = new FakeTimeProvider();
        await using var connections = LedgerSetup.Connections(database.ConnectionString, 3, clock: clock);
        var processes = await OpenAllAsync(connections, 3);
        foreach (var process in processes)
            await database.ExecuteAsync($"SELECT pg_terminate_backend({process}, 5000)");

        clock.Advance(Quiet);
        var after = await OpenAllAsync(connections, 3);

        Assert.Empty(after.Intersect(processes));
    }

    // A NAT or a balancer: nothing says that the connection is gone.
    [PostgresFact]
    public async Task A_connection_that_was_forgotten_in_a_quiet_time_costs_a_second()
    {
        var directory = Directory.CreateTempSubdirectory("payment-gateway-tests.");
        await using var relay = Relay.ToPostgres(directory.FullName, () => database.Server.Directory);
        var passed = database.ConnectionString.Replace(
            database.Server.Directory, directory.FullName, StringComparison.Ordinal);
        var clock = new FakeTimeProvider();
        await using var connections = LedgerSetup.Connections(passed, 3, clock: clock);
        var processes = await OpenAllAsync(connections, 3);
        relay.Forget();

        clock.Advance(Quiet);
        var after = await connections.RunAsync(ProcessAsync).WaitAsync(TimeSpan.FromSeconds(4));

        Assert.DoesNotContain(after, processes);
        directory.Delete(recursive: true);
    }

    [PostgresFact]
    public async Task A_connection_lives_for_an_hour_however_much_it_is_used()
    {
        var clock = new FakeTimeProvider();
        // Npgsql's pool keeps what is given back, so there its lifetime must be over, too.
        await using var connections = LedgerSetup.Connections(
            $"{database.ConnectionString};Connection Lifetime=1", 1, clock: clock);
        var process = await connections.RunAsync(ProcessAsync);
        await Eventually.HoldsAsync(
            async () =>
            {
                Assert.Equal(process, await connections.RunAsync(ProcessAsync));
                return await database.ScalarAsync<bool>(
                    "SELECT backend_start < clock_timestamp() - interval '2 s' FROM pg_stat_activity "
                    + $"WHERE pid = {process}");
            },
            "it is older than Npgsql would take");

        clock.Advance(TimeSpan.FromHours(1.1));
        await connections.RunAsync(ProcessAsync);

        Assert.NotEqual(process, await connections.RunAsync(ProcessAsync));
    }

    [PostgresFact]
    public async Task A_statement_that_the_server_refuses_keeps_the_connection()
    {
        await using var connections = LedgerSetup.Connections(database.ConnectionString, 3);
        var process = await connections.RunAsync(ProcessAsync);

        await Assert.ThrowsAsync<PostgresException>(
            () => connections.RunAsync(db => db.ScalarAsync<int>("SELECT 1 / 0")));

        Assert.Equal(process, await connections.RunAsync(ProcessAsync));
    }

    [PostgresFact]
    public async Task A_statement_over_the_limit_waits()
    {
        await using var connections = LedgerSetup.Connections(database.ConnectionString, 1);

        var processes = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => connections.RunAsync(ProcessAsync)));

        Assert.Single(processes.Distinct());
    }

    [PostgresFact]
    public async Task A_batch_whose_server_process_is_frozen_times_out_and_the_next_one_has_another_process()
    {
        var owner = await database.OpenEpochAsync();
        await using var connections = LedgerSetup.Connections($"{database.ConnectionString};Command Timeout=3", 1);
        var payments = new PaymentStore(connections);
        Assert.Single(await payments.StoreAsync(Batch(owner)));
        var process = await connections.RunAsync(ProcessAsync);

        await PostgresServer.FrozenAsync([process], async () =>
        {
            await Assert.ThrowsAnyAsync<NpgsqlException>(
                () => payments.StoreAsync(Batch(owner)).WaitAsync(TimeSpan.FromSeconds(20)));

            Assert.Single(await payments.StoreAsync(Batch(owner)));
            Assert.NotEqual(process, await connections.RunAsync(ProcessAsync));
        });
    }

    private static StoreArgs Batch(int owner) =>
        new([Guid.NewGuid()], [1990], [new DateTime(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc)], [0], owner);

    /// <summary>All of them at once: none ends before each has begun.</summary>
    private static async Task<int[]> OpenAllAsync(BatchConnections connections, int count)
    {
        var begun = 0;
        var all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return await Task.WhenAll(Enumerable.Range(0, count).Select(_ => connections.RunAsync(
            async db =>
            {
                var process = await ProcessAsync(db);
                if (Interlocked.Increment(ref begun) == count)
                    all.SetResult();
                await all.Task.WaitAsync(TimeSpan.FromSeconds(10));
                return process;
            })));
    }

    private static Task<int> ProcessAsync(NpgsqlConnection db) => db.ScalarAsync<int>("SELECT pg_backend_pid()");
}

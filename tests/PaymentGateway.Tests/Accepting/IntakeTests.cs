using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Accepting;

/// <summary>The group commit, on a real table; the clock is frozen.</summary>
public sealed class IntakeTests : OwnDatabase
{
    private readonly WatchedClock _clock = new();

    [PostgresFact]
    public async Task A_lone_payment_is_stored_before_it_is_acknowledged_and_waits_for_no_timer()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var id = Guid.NewGuid();

        var result = await rig.AcceptAsync(id);

        Assert.Equal(AcceptResult.Accepted, result);
        var row = Assert.Single(await Database.Payments.FindAsync([id]));
        Assert.Equal((1990L, rig.Lease.Epoch), (row.AmountCents, row.OwnerEpoch));
        await Eventually.HoldsAsync(() => rig.Queue.Count == 1, "it is in the queue");
        Assert.Equal(id, Assert.Single(rig.TakeAll()));
    }

    [PostgresFact]
    public async Task Concurrent_payments_share_INSERT_statements()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var ids = Batches.SortedIds(1_000);

        var results = await AcceptTogetherAsync(rig, ids);

        Assert.All(results, result => Assert.Equal(AcceptResult.Accepted, result));
        // One of one, then full ones.
        Assert.Equal(3, await StatementsAsync());
        await Eventually.HoldsAsync(() => rig.Queue.Count == 1_000, "all are in the queue");
        Assert.Equal(ids, rig.TakeAll().Order());
    }

    // Two instances that store the same ids in another order would deadlock.
    [PostgresFact]
    public async Task A_batch_is_stored_in_the_order_of_its_ids()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);

        await AcceptTogetherAsync(rig, Enumerable.Reverse(Batches.SortedIds(200)));

        Assert.Equal(0, await Database.ScalarAsync<long>("""
            SELECT count(*) FROM (
                SELECT correlation_id < lag(correlation_id) OVER (PARTITION BY xmin::text ORDER BY accepted_at) AS wrong
                FROM payments
            ) AS pairs WHERE wrong
            """));
        Assert.Equal(2, await StatementsAsync());
    }

    [PostgresFact]
    public async Task After_a_burst_payments_linger_and_after_a_few_each_is_stored_at_once_again()
    {
        var linger = TimeSpan.FromMilliseconds(50);
        using var rig = await IntakeFixture.StartAsync(Database, _clock, ("Gateway:Intake:Linger", "50ms"));
        await AcceptTogetherAsync(rig, Batches.SortedIds(9));
        Assert.Equal(2, await StatementsAsync());

        await IdleAsync(rig);
        var lingering = Batches.SortedIds(3).Select(id => rig.AcceptAsync(id)).ToList();
        Assert.True(_clock.WakesIn(linger));
        Assert.Equal(2, await StatementsAsync());
        _clock.Advance(linger);
        await Task.WhenAll(lingering);
        Assert.Equal(3, await StatementsAsync());

        await IdleAsync(rig);
        await AcceptTogetherAsync(rig, Batches.SortedIds(3));
        Assert.Equal(5, await StatementsAsync());
    }

    [PostgresFact]
    public async Task No_batch_is_larger_than_the_limit()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock, ("Gateway:Intake:MaxBatch", "10"));

        await AcceptTogetherAsync(rig, Batches.SortedIds(200));

        Assert.Equal(10, await Database.ScalarAsync<long>(
            "SELECT max(rows) FROM (SELECT count(*) AS rows FROM payments GROUP BY xmin::text) AS statements"));
    }

    [PostgresFact]
    public async Task Payments_of_one_instance_are_queued_in_the_order_of_their_acceptance()
    {
        using var rig = await IntakeFixture.StartAsync(Database, TimeProvider.System);

        await Task.WhenAll(Batches.SortedIds(500).Select(id => rig.AcceptAsync(id)));
        await Eventually.HoldsAsync(() => rig.Queue.Count == 500, "all are in the queue");

        var times = new List<DateTime>();
        while (rig.Queue.TryTake(out var payment))
            times.Add(payment.AcceptedAt);
        Assert.Equal(times.Distinct().Order(), times);
    }

    [PostgresTheory]
    [InlineData(1990)]
    [InlineData(200)]
    public async Task An_id_twice_in_a_batch_is_queued_once_and_another_amount_is_a_conflict(long secondCents)
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var id = Guid.NewGuid();

        var results = await Task.WhenAll(
            rig.AcceptAsync(Guid.NewGuid()), rig.AcceptAsync(id), rig.AcceptAsync(id, secondCents));

        Assert.Equal(2, await StatementsAsync());
        var second = secondCents == 1990 ? AcceptResult.Accepted : AcceptResult.Conflict;
        Assert.Equal([AcceptResult.Accepted, second], results[1..].Order());
        var stored = Assert.Single(await Database.Payments.FindAsync([id]));
        Assert.Equal(results[1] == AcceptResult.Accepted ? 1990 : secondCents, stored.AmountCents);
        await Eventually.HoldsAsync(() => rig.Queue.Count == 2, "they are in the queue");
        Assert.Single(rig.TakeAll(), queued => queued == id);
    }

    [PostgresFact]
    public async Task An_id_that_is_known_is_acknowledged_with_its_amount_and_a_conflict_with_another()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var id = Guid.NewGuid();
        await rig.AcceptAsync(id);

        Assert.Equal(AcceptResult.Accepted, await rig.AcceptAsync(id));
        Assert.Equal(AcceptResult.Conflict, await rig.AcceptAsync(id, 1991));

        await Eventually.HoldsAsync(() => rig.Queue.Count > 0, "it is in the queue");
        Assert.Equal(id, Assert.Single(rig.TakeAll()));
    }

    [PostgresFact]
    public async Task Two_instances_that_take_the_same_ids_at_once_queue_each_once()
    {
        using var one = await IntakeFixture.StartAsync(Database, _clock);
        using var other = await IntakeFixture.StartAsync(Database, _clock);
        var ids = Batches.SortedIds(500);

        var results = await Task.WhenAll(
            ids.Select(id => one.AcceptAsync(id)).Concat(Enumerable.Reverse(ids).Select(id => other.AcceptAsync(id))));

        Assert.All(results, result => Assert.Equal(AcceptResult.Accepted, result));
        await Eventually.HoldsAsync(() => one.Queue.Count + other.Queue.Count == 500, "all are queued");
        Assert.Equal(ids, one.TakeAll().Concat(other.TakeAll()).Order());
    }

    [PostgresFact]
    public async Task Without_an_epoch_nothing_is_accepted_and_the_keeper_is_woken()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        await Database.Leases.CloseAsync(rig.Lease.Epoch);
        var woken = rig.Lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);

        var result = await rig.AcceptAsync(Guid.NewGuid());

        Assert.Equal(AcceptResult.Unavailable, result);
        await woken.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal(0, rig.Queue.Count);
        Assert.Equal(0, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
    }

    [PostgresFact]
    public async Task Payments_that_do_not_fit_into_the_queue_wait_in_the_table_and_newer_ones_behind_them()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock, ("Gateway:Intake:QueueCapacity", "2"));
        for (var queued = 1; queued <= 2; queued++)
        {
            await rig.AcceptAsync(Guid.NewGuid());
            await Eventually.HoldsAsync(() => rig.Queue.Count == queued, "it is in the queue");
        }

        await rig.AcceptAsync(Guid.NewGuid());
        await Eventually.HoldsAsync(() => rig.Backlog.HasOverflow, "the third one waits in the table");
        Assert.Equal(2, rig.TakeAll().Count);

        var newer = await rig.AcceptAsync(Guid.NewGuid());

        Assert.Equal(AcceptResult.Accepted, newer);
        await Eventually.HoldsAsync(
            () => rig.Backlog.Next() is { } range && range.To - range.From >= TimeSpan.FromMicroseconds(1),
            "the newer one waits behind it");
        Assert.Equal(0, rig.Queue.Count);
    }

    [PostgresFact]
    public async Task Payments_over_the_waiting_limit_are_refused_at_once()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock, ("Gateway:Intake:MaxWaiting", "5"));
        await using var held = await HoldTableAsync();
        var taken = Enumerable.Range(0, 6).Select(_ => rig.AcceptAsync(Guid.NewGuid())).ToList();

        var refused = rig.AcceptAsync(Guid.NewGuid());

        Assert.True(refused.IsCompleted);
        Assert.Equal(AcceptResult.Overloaded, await refused);
        Assert.DoesNotContain(taken, task => task.IsCompleted);
        await held.DisposeAsync();
        Assert.All(await Task.WhenAll(taken), result => Assert.Equal(AcceptResult.Accepted, result));
    }

    [PostgresFact]
    public async Task Statements_without_an_answer_are_abandoned_in_time_and_their_payments_are_queued_all_the_same()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var ids = Batches.SortedIds(3);
        await using var held = await HoldTableAsync();
        var accepting = new List<Task<AcceptResult>>();
        for (var statements = 1; statements <= 2; statements++)
        {
            accepting.Add(rig.AcceptAsync(ids[statements - 1]));
            await TimePassesUntilAsync(
                async () => (await Database.Leases.WritersAsync()).Count == statements, "it waits for the table");
        }

        accepting.Add(rig.AcceptAsync(ids[2]));
        await TimePassesUntilAsync(
            () => Task.FromResult(accepting.TrueForAll(task => task.IsCompleted)), "all are answered");

        Assert.All(await Task.WhenAll(accepting), result => Assert.Equal(AcceptResult.Unavailable, result));
        Assert.Equal(AcceptResult.Overloaded, await rig.AcceptAsync(Guid.NewGuid()));
        await held.DisposeAsync();
        await Eventually.HoldsAsync(() => rig.Queue.Count == 2, "the stored ones are queued");
        Assert.Equal(ids[..2], rig.TakeAll().Order());
        Assert.Empty(await Database.Payments.FindAsync(ids[2..]));
    }

    [PostgresFact]
    public async Task An_id_that_another_transaction_holds_delays_its_batch_briefly_and_only_that_payment_is_refused()
    {
        using var rig = await IntakeFixture.StartAsync(Database, _clock);
        var ids = Batches.SortedIds(40);
        await using var held = await HoldIdAsync(ids[17]);

        var alone = rig.AcceptAsync(ids[17]);
        var together = ids.Select(id => rig.AcceptAsync(id)).ToList();
        var results = await Task.WhenAll(together).WaitAsync(TimeSpan.FromSeconds(20));

        Assert.Equal(AcceptResult.Unavailable, await alone);
        Assert.Equal(
            ids.Select(id => id == ids[17] ? AcceptResult.Unavailable : AcceptResult.Accepted), results);
        await held.DisposeAsync();
        Assert.Equal(AcceptResult.Accepted, await rig.AcceptAsync(ids[17]));
        await Eventually.HoldsAsync(() => rig.Queue.Count == 40, "all are queued once");
        Assert.Equal(ids, rig.TakeAll().Order());
        Assert.Null(rig.Backlog.UncertainUntil());
    }

    [PostgresFact]
    public async Task A_frozen_server_process_delays_only_its_own_payments()
    {
        // So long Npgsql waits for the INSERT that hangs, however slowly the others come.
        await Database.ReopenBatchesAsync("Command Timeout=60");
        using var rig = await IntakeFixture.StartAsync(Database, TimeProvider.System);
        await rig.AcceptAsync(Guid.NewGuid());
        var process = await Database.ScalarAsync<int>("""
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'INSERT INTO payments%'
            """);
        PostgresServer.Freeze(process);
        try
        {
            var stuck = rig.AcceptAsync(Guid.NewGuid());
            // One may be refused where the machine is slow, as its connection has yet to be opened.
            for (var others = 0; others < 50; others++)
                await Eventually.HoldsAsync(
                    async () => await rig.AcceptAsync(Guid.NewGuid()) == AcceptResult.Accepted, "it is accepted");
            // All came while the INSERT that hangs was still waited for.
            Assert.Null(rig.Backlog.UncertainUntil());
            Assert.Equal(AcceptResult.Unavailable, await stuck.WaitAsync(TimeSpan.FromSeconds(20)));
        }
        finally
        {
            PostgresServer.Thaw(process);
        }
    }

    // A statement is a transaction, and its number is on every row that it wrote.
    private Task<long> StatementsAsync() =>
        Database.ScalarAsync<long>("SELECT count(DISTINCT xmin::text) FROM payments");

    private static Task IdleAsync(IntakeFixture rig) => Eventually.HoldsAsync(
        () => rig.Intake.StopAsync(CancellationToken.None).IsCompleted, "nothing is in flight any more");

    // However slowly they come: the first statement waits for the table, and the others for it.
    private async Task<AcceptResult[]> AcceptTogetherAsync(IntakeFixture rig, IEnumerable<Guid> ids)
    {
        await using var held = await HoldTableAsync();
        var accepting = ids.Select(id => rig.AcceptAsync(id)).ToList();
        await held.DisposeAsync();
        return await Task.WhenAll(accepting);
    }

    private Task TimePassesUntilAsync(Func<Task<bool>> condition, string what) => Eventually.HoldsAsync(
        () =>
        {
            _clock.Advance(TimeSpan.FromMilliseconds(20));
            return condition();
        },
        what);

    // Stored by a transaction that has not committed until this is disposed; then it never was.
    private Task<IAsyncDisposable> HoldIdAsync(Guid id) =>
        BeginAsync($"INSERT INTO payments VALUES ('{id}', 1990, now(), 1)");

    // Statements on the table wait until this is disposed.
    private Task<IAsyncDisposable> HoldTableAsync() => BeginAsync("LOCK TABLE payments");

    private async Task<IAsyncDisposable> BeginAsync(string sql)
    {
        var connection = await Database.Source.OpenConnectionAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = $"BEGIN; {sql}";
        await command.ExecuteNonQueryAsync();
        return connection;
    }
}

using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Accepting;

/// <summary>The group commit, on a real table; the clock is frozen.</summary>
public sealed class IntakeTests : OwnDatabase
{
    private readonly WatchedClock _clock = new();

    [PostgresFact]
    public async Task A_lone_payment_is_stored_before_it_is_acknowledged_and_waits_for_no_timer()
    {
        await using var rig = await StartAsync();
        var id = Guid.NewGuid();

        var result = await AcceptAsync(rig, id);

        Assert.Equal(AcceptResult.Accepted, result);
        var row = Assert.Single(await Database.Payments.FindAsync([id]));
        Assert.Equal((1990L, rig.Lease.Current.Number), (row.AmountCents, row.OwnerEpoch));
        await Eventually.HoldsAsync(() => rig.Queue.Count == 1, "it is in the queue");
        Assert.Equal(id, Assert.Single(TakeAll(rig)));
    }

    [PostgresFact]
    public async Task Concurrent_payments_share_INSERT_statements_up_to_the_limit_of_a_batch()
    {
        await using var rig = await StartAsync(("Gateway:Intake:MaxBatch", "250"));
        var ids = Batches.SortedIds(1_000);

        var results = await AcceptTogetherAsync(rig, ids);

        Assert.All(results, result => Assert.Equal(AcceptResult.Accepted, result));
        // One of one, then full ones.
        Assert.Equal(5, await StatementsAsync());
        await Eventually.HoldsAsync(() => rig.Queue.Count == 1_000, "all are in the queue");
        Assert.Equal(ids, TakeAll(rig).Order());
    }

    // Two instances that store the same ids in another order would deadlock.
    [PostgresFact]
    public async Task A_batch_is_stored_in_the_order_of_its_ids()
    {
        await using var rig = await StartAsync();

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
        await using var rig = await StartAsync(("Gateway:Intake:Linger", "50ms"));
        await AcceptTogetherAsync(rig, Batches.SortedIds(9));
        Assert.Equal(2, await StatementsAsync());

        await IdleAsync(rig);
        var lingering = Batches.SortedIds(3).Select(id => AcceptAsync(rig, id)).ToList();
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
    public async Task Payments_of_one_instance_are_queued_in_the_order_of_their_acceptance()
    {
        await using var rig = await StartAsync(TimeProvider.System);

        await Task.WhenAll(Batches.SortedIds(500).Select(id => AcceptAsync(rig, id)));
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
        await using var rig = await StartAsync();
        var id = Guid.NewGuid();

        var results = await Task.WhenAll(
            AcceptAsync(rig, Guid.NewGuid()), AcceptAsync(rig, id), AcceptAsync(rig, id, secondCents));

        Assert.Equal(2, await StatementsAsync());
        var second = secondCents == 1990 ? AcceptResult.Accepted : AcceptResult.Conflict;
        Assert.Equal([AcceptResult.Accepted, second], results[1..].Order());
        var stored = Assert.Single(await Database.Payments.FindAsync([id]));
        Assert.Equal(results[1] == AcceptResult.Accepted ? 1990 : secondCents, stored.AmountCents);
        await Eventually.HoldsAsync(() => rig.Queue.Count == 2, "they are in the queue");
        Assert.Single(TakeAll(rig), queued => queued == id);
    }

    [PostgresFact]
    public async Task An_id_that_is_known_is_acknowledged_with_its_amount_and_a_conflict_with_another()
    {
        await using var rig = await StartAsync();
        var id = Guid.NewGuid();
        await AcceptAsync(rig, id);

        Assert.Equal(AcceptResult.Accepted, await AcceptAsync(rig, id));
        Assert.Equal(AcceptResult.Conflict, await AcceptAsync(rig, id, 1991));

        await Eventually.HoldsAsync(() => rig.Queue.Count > 0, "it is in the queue");
        Assert.Equal(id, Assert.Single(TakeAll(rig)));
    }

    // The statement that asks for the known ones may fail, and that proves nothing of those that were stored.
    [PostgresFact]
    public async Task What_an_INSERT_stored_is_queued_though_the_known_ones_of_its_batch_cannot_be_asked_for()
    {
        await using var rig = await StartAsync();
        var (known, added) = (Guid.NewGuid(), Guid.NewGuid());
        await AcceptAsync(rig, known);
        await Database.ExecuteAsync("ALTER TABLE payments RENAME COLUMN held_by TO taken_away");

        // The first one has an INSERT of its own, and the others share the next.
        var results = await Task.WhenAll(
            AcceptAsync(rig, Guid.NewGuid()), AcceptAsync(rig, known), AcceptAsync(rig, added));

        Assert.Equal([AcceptResult.Accepted, AcceptResult.Unavailable, AcceptResult.Accepted], results);
        await Eventually.HoldsAsync(() => rig.Queue.Count == 3, "they are in the queue");
        Assert.Contains(added, TakeAll(rig));
        Assert.False(rig.Epoch.IsSpoiled);
    }

    [Fact]
    public async Task An_INSERT_that_was_not_sent_leaves_the_epoch_as_it_is()
    {
        var nobody = new Uri("http://127.0.0.1:9");
        await using var stages = Stages.BuildLanes(nobody, nobody, TimeProvider.System);
        var pending = new PendingAcceptance(new Payment(Guid.NewGuid(), 1990, Batches.Noon, 1));

        await stages.Part<IntakeWriter>().StoreAsync([pending]);

        Assert.Equal(AcceptResult.Unavailable, await pending.Task);
        Assert.False(stages.Epoch.IsSpoiled);
        Assert.Null(stages.Epoch.Backlog.Oldest());
    }

    // It may have been committed: then the payment is this epoch's, and nobody here knows it.
    [PostgresFact]
    public async Task An_INSERT_whose_connection_breaks_spoils_the_epoch_and_keeps_the_low_water_mark_until_its_end()
    {
        await using var rig = await StartAsync();
        await using var held = await HoldTableAsync();
        var accepting = AcceptAsync(rig, Guid.NewGuid());
        await Eventually.HoldsAsync(
            async () => (await Database.Adoptions.WritersAsync()).Count == 1, "it waits for the table");

        await Database.ExecuteAsync("""
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'INSERT INTO payments%'
            """);

        Assert.Equal(AcceptResult.Unavailable, await accepting);
        Assert.True(rig.Epoch.IsSpoiled);
        Assert.NotNull(rig.Epoch.Backlog.Oldest());
    }

    [PostgresFact]
    public async Task Without_an_epoch_nothing_is_accepted_and_the_keeper_is_woken()
    {
        await using var rig = await StartAsync();
        await Database.Leases.CloseAsync(rig.Lease.Current.Number);
        var woken = rig.Lease.CheckSoon.WaitAsync(TimeSpan.FromHours(1), CancellationToken.None);

        var result = await AcceptAsync(rig, Guid.NewGuid());

        Assert.Equal(AcceptResult.Unavailable, result);
        await woken.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal(0, rig.Queue.Count);
        Assert.Equal(0, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
    }

    [PostgresFact]
    public async Task Payments_that_do_not_fit_into_the_queue_wait_in_the_table_and_newer_ones_behind_them()
    {
        await using var rig = await StartAsync(("Gateway:Intake:QueueCapacity", "2"));
        for (var queued = 1; queued <= 2; queued++)
        {
            await AcceptAsync(rig, Guid.NewGuid());
            await Eventually.HoldsAsync(() => rig.Queue.Count == queued, "it is in the queue");
        }

        await AcceptAsync(rig, Guid.NewGuid());
        await Eventually.HoldsAsync(() => rig.Epoch.Backlog.HasOverflow, "the third one waits in the table");
        Assert.Equal(2, TakeAll(rig).Count);

        var newer = await AcceptAsync(rig, Guid.NewGuid());

        Assert.Equal(AcceptResult.Accepted, newer);
        await Eventually.HoldsAsync(
            () => rig.Epoch.Backlog.Next() is { } range
                && range.To - range.From >= TimeSpan.FromMicroseconds(1),
            "the newer one waits behind it");
        Assert.Equal(0, rig.Queue.Count);
    }

    [PostgresFact]
    public async Task Payments_over_the_waiting_limit_are_refused_at_once()
    {
        await using var rig = await StartAsync(("Gateway:Intake:MaxWaiting", "5"));
        await using var held = await HoldTableAsync();
        var taken = Enumerable.Range(0, 6).Select(_ => AcceptAsync(rig, Guid.NewGuid())).ToList();

        var refused = AcceptAsync(rig, Guid.NewGuid());

        Assert.True(refused.IsCompleted);
        Assert.Equal(AcceptResult.Overloaded, await refused);
        Assert.DoesNotContain(taken, task => task.IsCompleted);
        await held.ExecuteAsync("ROLLBACK");
        Assert.All(await Task.WhenAll(taken), result => Assert.Equal(AcceptResult.Accepted, result));
    }

    [PostgresFact]
    public async Task Statements_without_an_answer_are_abandoned_in_time_and_their_payments_are_queued_all_the_same()
    {
        await using var rig = await StartAsync();
        var ids = Batches.SortedIds(3);
        await using var held = await HoldTableAsync();
        var accepting = new List<Task<AcceptResult>>();
        for (var statements = 1; statements <= 2; statements++)
        {
            accepting.Add(AcceptAsync(rig, ids[statements - 1]));
            await TimePassesUntilAsync(
                async () => (await Database.Adoptions.WritersAsync()).Count == statements, "it waits for the table");
        }

        accepting.Add(AcceptAsync(rig, ids[2]));
        await TimePassesUntilAsync(
            () => Task.FromResult(accepting.TrueForAll(task => task.IsCompleted)), "all are answered");

        Assert.All(await Task.WhenAll(accepting), result => Assert.Equal(AcceptResult.Unavailable, result));
        Assert.Equal(AcceptResult.Overloaded, await AcceptAsync(rig, Guid.NewGuid()));
        await held.ExecuteAsync("ROLLBACK");
        await Eventually.HoldsAsync(() => rig.Queue.Count == 2, "the stored ones are queued");
        Assert.Equal(ids[..2], TakeAll(rig).Order());
        Assert.Empty(await Database.Payments.FindAsync(ids[2..]));
    }

    [PostgresFact]
    public async Task An_id_that_another_transaction_holds_delays_its_batch_briefly_and_only_that_payment_is_refused()
    {
        await using var rig = await StartAsync();
        var ids = Batches.SortedIds(40);
        await using var held = await Database.HoldAsync(
            $"INSERT INTO payments VALUES ('{ids[17]}', 1990, now(), 1)");

        var alone = AcceptAsync(rig, ids[17]);
        var together = ids.Select(id => AcceptAsync(rig, id)).ToList();
        var results = await Task.WhenAll(together).WaitAsync(TimeSpan.FromSeconds(20));

        Assert.Equal(AcceptResult.Unavailable, await alone);
        Assert.Equal(
            ids.Select(id => id == ids[17] ? AcceptResult.Unavailable : AcceptResult.Accepted), results);
        await held.ExecuteAsync("ROLLBACK");
        Assert.Equal(AcceptResult.Accepted, await AcceptAsync(rig, ids[17]));
        await Eventually.HoldsAsync(() => rig.Queue.Count == 40, "all are queued once");
        Assert.Equal(ids, TakeAll(rig).Order());
        Assert.False(rig.Epoch.IsSpoiled);
    }

    [PostgresFact]
    public async Task A_frozen_server_process_delays_only_its_own_payments()
    {
        // Npgsql waits 60 s for the INSERT that hangs, however slowly the others come.
        await using var rig = await StartAsync(TimeProvider.System, "Command Timeout=60");
        await AcceptAsync(rig, Guid.NewGuid());
        var process = await Database.ScalarAsync<int>("""
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'INSERT INTO payments%'
            """);
        await PostgresServer.FrozenAsync([process], async () =>
        {
            var stuck = AcceptAsync(rig, Guid.NewGuid());
            // One may be refused where the machine is slow, as its connection has yet to be opened.
            for (var others = 0; others < 50; others++)
                await Eventually.HoldsAsync(
                    async () => await AcceptAsync(rig, Guid.NewGuid()) == AcceptResult.Accepted, "it is accepted");
            // All came while the INSERT that hangs was still waited for.
            Assert.False(rig.Epoch.IsSpoiled);
            Assert.Equal(AcceptResult.Unavailable, await stuck.WaitAsync(TimeSpan.FromSeconds(20)));
        });
    }

    // A statement is a transaction, and its number is on every row that it wrote.
    private Task<long> StatementsAsync() =>
        Database.ScalarAsync<long>("SELECT count(DISTINCT xmin::text) FROM payments");

    private static Task IdleAsync(Stages rig) => Eventually.HoldsAsync(
        () => rig.Part<Intake>().StopAsync(CancellationToken.None).IsCompleted, "nothing is in flight any more");

    // However slowly they come: the first statement waits for the table, and the others for it.
    private async Task<AcceptResult[]> AcceptTogetherAsync(Stages rig, IEnumerable<Guid> ids)
    {
        await using var held = await HoldTableAsync();
        var accepting = ids.Select(id => AcceptAsync(rig, id)).ToList();
        await held.ExecuteAsync("ROLLBACK");
        return await Task.WhenAll(accepting);
    }

    private Task TimePassesUntilAsync(Func<Task<bool>> condition, string what) =>
        _clock.AdvancesUntilAsync(condition, TimeSpan.FromMilliseconds(20), what);

    // Statements on the table wait until this is disposed.
    private Task<NpgsqlConnection> HoldTableAsync() => Database.HoldAsync("LOCK TABLE payments");

    private Task<Stages> StartAsync(params (string Key, string? Value)[] settings) =>
        StartAsync(_clock, more: "", settings);

    // The intake of an instance, and nothing that takes payments out of its queue.
    private async Task<Stages> StartAsync(
        TimeProvider clock, string more = "", params (string Key, string? Value)[] settings)
    {
        // A frozen clock would never end the lingering.
        var stages = Stages.Build(
            $"{Database.ConnectionString};{more}", clock, urls: null, [("Gateway:Intake:Linger", "0s"), .. settings]);
        stages.HoldLease(await Database.OpenEpochAsync());
        return stages;
    }

    private static Task<AcceptResult> AcceptAsync(Stages rig, Guid id, long cents = 1990) =>
        rig.Part<Intake>().AcceptAsync(id, cents);

    private static List<Guid> TakeAll(Stages rig)
    {
        var ids = new List<Guid>();
        while (rig.Queue.TryTake(out var payment))
            ids.Add(payment.Id);
        return ids;
    }
}

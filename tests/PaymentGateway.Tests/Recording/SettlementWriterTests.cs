using Settlement = PaymentGateway.Recording.Settlement;

namespace PaymentGateway.Tests.Recording;

/// <summary>What outcomes wait for before they enter the ledger, and a summary with them.</summary>
public sealed class SettlementWriterTests : IAsyncLifetime
{
    private const string Failed = "outcomes could not be written";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Millisecond = TimeSpan.FromMilliseconds(1);

    private readonly TestDatabase _database = new();
    private readonly WatchedClock _clock = new();
    private Stages _stages = null!;


    public async Task InitializeAsync()
    {
        await _database.InitializeAsync();
        if (PostgresServer.IsInstalled)
            _stages = Stages.Build(
                _database.ConnectionString, _clock, urls: null, ("Gateway:Recording:MaxBuffered", "2"));
    }

    public async Task DisposeAsync()
    {
        if (_stages is not null)
            await _stages.DisposeAsync();
        await _database.DisposeAsync();
    }

    [PostgresFact]
    public async Task An_outcome_that_is_already_in_the_ledger_waits_for_no_renewal()
    {
        var payment = await StoreAsync();
        await _database.Ledger.RecordAsync(Batches.ToRecord(
            Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt)));
        // Nobody renews the lease, so whoever waits for that waits for ever.
        await _stages.StartAsync<SettlementWriter>();

        Add(payment);

        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
    }

    [PostgresFact]
    public async Task An_outcome_that_is_already_in_the_ledger_waits_for_no_shared_connection()
    {
        var payment = await StoreAsync();
        await _database.Ledger.RecordAsync(Batches.ToRecord(
            Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt)));
        var end = new TaskCompletionSource();
        var opened = 0;
        // Of ten, three are for batches and two for leases.
        var held = Enumerable.Range(0, 5).Select(_ => _stages.Part<SharedConnections>().RunAsync(async connection =>
        {
            await connection.OpenAsync();
            Interlocked.Increment(ref opened);
            await end.Task;
            return true;
        })).ToList();
        await Eventually.HoldsAsync(() => opened == held.Count, "all shared connections are in use");
        await _stages.StartAsync<SettlementWriter>();

        Add(payment);

        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        end.SetResult();
        await Task.WhenAll(held);
    }

    [PostgresFact]
    public async Task A_written_outcome_is_in_the_ledger_as_it_was_charged_and_leaves_the_memory()
    {
        var (paid, other) = (await StoreAsync(), await StoreAsync());
        await _stages.StartAsync<SettlementWriter>();

        Add(paid, Processor.Fallback);

        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal([other], _stages.Open.Snapshot());
        Assert.Equal(
            $"{paid.Id} 2 1990 {Batches.Noon:O}",
            await _database.ScalarAsync<string>($"""
                SELECT correlation_id || ' ' || processor || ' ' || amount_cents || ' '
                  || to_char(requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"0Z"') FROM settlements
                """));
    }

    [PostgresFact]
    public async Task An_outcome_is_written_again_after_growing_delays_until_the_ledger_has_it_once()
    {
        var payment = await StoreAsync();
        await _stages.StartAsync<SettlementWriter>();
        await TakeLedgerAwayAsync();

        Add(payment);

        var tries = 0;
        foreach (var wait in new[] { 100, 200, 400, 500, 500 })
        {
            await HasFailedAsync(++tries);
            Assert.StartsWith("1 outcomes", Log.Last(), StringComparison.Ordinal);
            Assert.Contains($"next try in {wait} ms: ", Log.Last(), StringComparison.Ordinal);
            _clock.Advance(TimeSpan.FromMilliseconds(wait) - Millisecond);
            Assert.Equal(1, _clock.ArmedTimers);
            Assert.Equal((1, 1), (_stages.Open.Count, _stages.Outcomes.Count));
            _clock.Advance(Millisecond);
        }

        await HasFailedAsync(++tries);
        await BringLedgerBackAsync();
        _clock.Advance(TimeSpan.FromMilliseconds(500));
        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal((1, tries + 1), (await CountSettledAsync(), Log.Count)); // The last line: it goes on.
        Assert.Equal(2, _stages.ShownOf<SettlementWriter>().Count);
        Assert.Equal(0, _stages.Open.Count);
    }

    [PostgresFact]
    public async Task While_the_ledger_is_behind_there_is_no_capacity_for_charges_and_afterwards_there_is()
    {
        var (first, second) = (await StoreAsync(), await StoreAsync());
        await _stages.StartAsync<SettlementWriter>();
        await TakeLedgerAwayAsync();

        Add(first);
        Assert.True(_stages.Outcomes.HasCapacity);
        Add(second);
        Assert.False(_stages.Outcomes.HasCapacity);

        await HasFailedAsync(1);
        await BringLedgerBackAsync();
        _clock.Advance(TimeSpan.FromMilliseconds(100));
        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.True(_stages.Outcomes.HasCapacity);
    }

    // Another order than that of the ids deadlocks two instances with the same payments.
    [PostgresTheory]
    [InlineData(0, 1)]
    [InlineData(1, 0)]
    public async Task A_batch_asks_for_its_rows_in_the_order_of_the_ids(int first, int second)
    {
        var payments = new[] { await StoreAsync(), await StoreAsync() }.OrderBy(payment => payment.Id).ToList();
        await using var other = await _database.Source.OpenConnectionAsync();
        await using var transaction = await other.BeginTransactionAsync();
        await SettleElsewhereAsync(other, payments[0]);
        Add(payments[first]);
        Add(payments[second]);
        await _stages.StartAsync<SettlementWriter>();
        await WaitsForLockAsync();

        // The writer would have this one by now, and wait for the other: a deadlock.
        await SettleElsewhereAsync(other, payments[1]);

        await transaction.RollbackAsync();
        await _stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Empty(Log);
        Assert.Equal(2, await CountSettledAsync());
    }

    [PostgresFact]
    public async Task The_outcome_of_a_purged_payment_waits_for_a_check_of_the_keeper_and_enters_no_ledger()
    {
        var purged = NewPayment(await _database.OpenEpochAsync());
        await _stages.StartAsync<SettlementWriter>();

        Add(purged);

        await AsksTheKeeperAsync();
        Assert.Equal((1, 1), (_stages.Open.Count, _stages.Outcomes.Count));
        await KeeperLooksAsync();
        Assert.Equal((0, 0L), (_stages.Open.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task The_outcome_of_a_payment_stored_again_after_a_crash_enters_at_the_second_try()
    {
        var payment = NewPayment(await _database.OpenEpochAsync());
        await _stages.StartAsync<SettlementWriter>();
        Add(payment);
        await AsksTheKeeperAsync();

        await _database.Payments.StoreAsync(Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt));
        await KeeperLooksAsync();

        Assert.Equal((0, 1L), (_stages.Open.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task A_stop_ends_when_the_last_outcomes_are_written()
    {
        var payment = await StoreAsync();
        var writer = await _stages.StartAsync<SettlementWriter>();
        await TakeLedgerAwayAsync();
        Add(payment);
        await HasFailedAsync(1);

        var stop = writer.StopAsync(CancellationToken.None);

        Assert.False(stop.IsCompleted);
        await BringLedgerBackAsync();
        _clock.Advance(TimeSpan.FromMilliseconds(100));
        await stop.WaitAsync(Limit);
        Assert.Equal((0, 1L), (_stages.Open.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task A_stop_past_the_limit_of_the_host_leaves_unwritten_outcomes_to_the_next_owner()
    {
        var payment = await StoreAsync();
        var writer = await _stages.StartAsync<SettlementWriter>();
        await TakeLedgerAwayAsync();
        Add(payment);
        await HasFailedAsync(1);
        using var limit = new CancellationTokenSource();

        var stop = writer.StopAsync(limit.Token);
        Assert.False(stop.IsCompleted);
        await limit.CancelAsync();
        await stop.WaitAsync(Limit);

        Assert.Equal([payment], _stages.Open.Snapshot());
    }

    private IReadOnlyCollection<string> Log => _stages.LogOf<SettlementWriter>();

    private static Payment NewPayment(int epoch) => new(Guid.NewGuid(), 1990, Batches.Noon, epoch);

    private async Task<Payment> StoreAsync()
    {
        var payment = NewPayment(await _database.OpenEpochAsync());
        await _database.Payments.StoreAsync(Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt));
        _stages.Open.Add(payment);
        return payment;
    }

    private void Add(Payment payment, Processor processor = Processor.Default)
    {
        _stages.Open.Add(payment);
        _stages.Outcomes.Add(new Settlement(payment, processor, payment.AmountCents, Batches.Noon));
    }

    private Task<long> CountSettledAsync() => _database.ScalarAsync<long>("SELECT count(*) FROM settlements");

    private Task TakeLedgerAwayAsync() => _database.ExecuteAsync("ALTER TABLE settlements RENAME TO taken_away");

    private Task BringLedgerBackAsync() => _database.ExecuteAsync("ALTER TABLE taken_away RENAME TO settlements");

    // Beside the wait for the next try nothing has a timer then.
    private Task HasFailedAsync(int times) => Eventually.HoldsAsync(
        () => Log.Count(line => line.Contains(Failed, StringComparison.Ordinal)) == times
            && _clock.ArmedTimers == 1,
        $"it has failed {times} times");

    private Task AsksTheKeeperAsync() =>
        _stages.Lease.CheckSoon.WaitAsync(Timeout.InfiniteTimeSpan, CancellationToken.None).WaitAsync(Limit);

    // As often as it takes: a look that ends before the writer waits for it is none.
    private Task KeeperLooksAsync() => Eventually.HoldsAsync(
        () =>
        {
            _stages.Lease.Checked();
            return _stages.Outcomes.Count == 0;
        },
        "the keeper's looks let the outcome go on");

    private static async Task SettleElsewhereAsync(NpgsqlConnection connection, Payment payment)
    {
        await using var command = new NpgsqlCommand(
            $"""
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT correlation_id, accepted_at, 1, 1990, now() FROM payments WHERE correlation_id = '{payment.Id}'
            """,
            connection);
        await command.ExecuteNonQueryAsync();
    }

    private Task WaitsForLockAsync() => Eventually.HoldsAsync(
        () => _database.ScalarAsync<bool>("""
            SELECT count(*) = 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """),
        "the writer waits for the other's row");
}

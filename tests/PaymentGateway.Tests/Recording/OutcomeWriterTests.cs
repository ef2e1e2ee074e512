using Settlement = PaymentGateway.Recording.Settlement;

namespace PaymentGateway.Tests.Recording;

public sealed class OutcomeWriterTests : OneInstance
{
    private const string Failed = "Failed to write ";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Millisecond = TimeSpan.FromMilliseconds(1);

    [PostgresFact]
    public async Task An_outcome_that_is_already_in_the_ledger_waits_for_no_renewal_and_no_shared_connection()
    {
        var payment = await StoreAsync();
        await Database.Ledger.RecordAsync(Batches.ToRecord(
            Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt)));
        var end = new TaskCompletionSource();
        var opened = 0;
        // The pool has ten connections: three are for batches and two for leases.
        var held = Enumerable.Range(0, 5).Select(_ => Stages.Part<SharedConnections>().RunAsync(async connection =>
        {
            await connection.OpenAsync();
            Interlocked.Increment(ref opened);
            await end.Task;
            return true;
        })).ToList();
        await Eventually.HoldsAsync(() => opened == held.Count, "all shared connections are in use");
        // Nobody renews the lease, so an outcome that waited for that would wait for ever.
        await Stages.StartAsync<OutcomeWriter>();

        Add(payment);

        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        end.SetResult();
        await Task.WhenAll(held);
    }

    [PostgresFact]
    public async Task A_written_outcome_is_in_the_ledger_as_it_was_charged_and_leaves_the_memory()
    {
        var (paid, other) = (await StoreAsync(), await StoreAsync());
        await Stages.StartAsync<OutcomeWriter>();

        Add(paid, processor: Known.Fallback);

        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal([other], Stages.Open.Snapshot());
        Assert.Equal(
            $"{paid.Id} 2 1990 {Batches.Noon:O}",
            await Database.ScalarAsync<string>($"""
                SELECT correlation_id || ' ' || processor || ' ' || amount_cents || ' '
                  || to_char(requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"0Z"') FROM settlements
                """));
    }

    [PostgresFact]
    public async Task An_outcome_is_written_again_after_growing_delays_until_the_ledger_has_it_once()
    {
        var payment = await StoreAsync();
        await Stages.StartAsync<OutcomeWriter>();
        await TakeLedgerAwayAsync();

        Add(payment);

        var tries = 0;
        foreach (var wait in new[] { 100, 200, 400, 500, 500 })
        {
            await HasFailedAsync(++tries);
            Assert.StartsWith($"{Failed}1 outcomes", Log.Last(), StringComparison.Ordinal);
            Assert.Contains($"next try in {wait} ms: ", Log.Last(), StringComparison.Ordinal);
            Clock.Advance(TimeSpan.FromMilliseconds(wait) - Millisecond);
            Assert.Equal(1, Clock.ArmedTimers);
            Assert.Equal((1, 1), (Stages.Open.Count, Stages.Outcomes.Count));
            Clock.Advance(Millisecond);
        }

        await HasFailedAsync(++tries);
        await BringLedgerBackAsync();
        Clock.Advance(TimeSpan.FromMilliseconds(500));
        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal((1, tries + 1), (await CountSettledAsync(), Log.Count)); // The last line: it goes on.
        Assert.Equal(2, Stages.ShownOf<OutcomeWriter>().Count);
        Assert.Equal(0, Stages.Open.Count);
    }

    // Another order than that of the ids deadlocks two instances with the same payments.
    [PostgresTheory]
    [InlineData(0, 1)]
    [InlineData(1, 0)]
    public async Task A_batch_asks_for_its_rows_in_the_order_of_the_ids(int first, int second)
    {
        var payments = new[] { await StoreAsync(), await StoreAsync() }.OrderBy(payment => payment.Id).ToList();
        await using var other = await Database.HoldAsync(Settle(payments[0]));
        Add(payments[first]);
        Add(payments[second]);
        await Stages.StartAsync<OutcomeWriter>();
        await Database.WaitsForLockAsync("the writer waits for the other's row");

        // The writer would have this one by now, and wait for the other: a deadlock.
        await other.ExecuteAsync(Settle(payments[1]));

        await other.ExecuteAsync("ROLLBACK");
        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Empty(Log);
        Assert.Equal(2, await CountSettledAsync());
    }

    [PostgresFact]
    public async Task The_outcome_of_a_purged_payment_waits_until_its_epoch_ends_and_enters_no_ledger()
    {
        var epoch = await HoldLeaseAsync();
        var purged = NewPayment(epoch.Number);
        await Stages.StartAsync<OutcomeWriter>();

        Add(purged);

        await AsksTheKeeperAsync();
        Assert.Equal((1, 1), (epoch.Unsettled.Count, Stages.Outcomes.Count));
        await HoldLeaseAsync();
        Assert.False(epoch.IsAtRest);
        await KeeperLooksAsync();
        Assert.Equal((0, 0L), (epoch.Unsettled.Count, await CountSettledAsync()));
        Assert.True(epoch.IsAtRest);
        Assert.Empty(Log);
    }

    // As in a store of several servers, which reports a commit before all of them show it.
    [PostgresFact]
    public async Task An_outcome_waits_until_its_committed_payment_is_visible_and_other_outcomes_do_not()
    {
        var epoch = await HoldLeaseAsync();
        // Accepted before what the retention keeps, and charged after it.
        var late = new Payment(Guid.NewGuid(), 1990, Batches.Noon.AddDays(-2), epoch.Number);
        await Database.ExecuteAsync("UPDATE ledger SET kept_from = '2025-07-14T12:00:00Z'");
        var other = await StoreAsync();
        await Stages.StartAsync<OutcomeWriter>();
        Add(late);
        Add(other);

        for (var looks = 0; looks < 3; looks++)
        {
            await AsksTheKeeperAsync();
            // The two may be taken in two batches.
            await Eventually.HoldsAsync(
                () => Stages.Open.Snapshot() is [var waiting] && waiting == late, "the other one is recorded");
            Assert.Equal((1, 1L), (Stages.Outcomes.Count, await CountSettledAsync()));
            await Eventually.HoldsAsync(
                () =>
                {
                    Stages.Lease.NoteChecked();
                    return Clock.ArmedTimers == 1;
                },
                "it waits for the next try");
            Clock.Advance(TimeSpan.FromMilliseconds(100));
        }

        await Database.Payments.StoreAsync(Batches.ToStore([late.Id], late.Epoch, late.AcceptedAt));
        await KeeperLooksAsync();

        Assert.Equal((0, 2L), (Stages.Open.Count, await CountSettledAsync()));
        Assert.Single(Stages.ShownOf<OutcomeWriter>());
    }

    // Nobody checks anything, so an outcome that waited for that would wait for ever.
    [PostgresTheory]
    [InlineData("UPDATE ledger SET kept_from = '2025-07-15T13:00:00Z'")]
    [InlineData("UPDATE payments SET accepted_at = accepted_at + interval '2 days'")]
    public async Task An_outcome_whose_payment_left_by_retention_leaves_the_memory(string left)
    {
        var payment = left.Contains("payments", StringComparison.Ordinal)
            ? await StoreAsync()
            : NewPayment(await Database.OpenEpochAsync());
        await Database.ExecuteAsync(left);
        await Stages.StartAsync<OutcomeWriter>();

        Add(payment);

        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal((0, 0L), (Stages.Open.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task The_outcome_of_an_ended_epoch_does_not_wait_for_a_payment_that_is_gone()
    {
        var ended = await HoldLeaseAsync();
        await HoldLeaseAsync();
        await Stages.StartAsync<OutcomeWriter>();

        Add(NewPayment(ended.Number), ended);

        await Stages.Outcomes.WrittenAsync(null).WaitAsync(Limit);
        Assert.Equal((0, 0L), (ended.Unsettled.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task A_stop_ends_when_the_last_outcomes_are_written()
    {
        var (writer, _) = await FailOnceAsync();

        var stop = writer.StopAsync(CancellationToken.None);

        Assert.False(stop.IsCompleted);
        await BringLedgerBackAsync();
        Clock.Advance(TimeSpan.FromMilliseconds(100));
        await stop.WaitAsync(Limit);
        Assert.Equal((0, 1L), (Stages.Open.Count, await CountSettledAsync()));
    }

    [PostgresFact]
    public async Task A_stop_past_the_limit_of_the_host_leaves_unwritten_outcomes_to_the_next_owner()
    {
        var (writer, payment) = await FailOnceAsync();
        using var limit = new CancellationTokenSource();

        var stop = writer.StopAsync(limit.Token);
        Assert.False(stop.IsCompleted);
        await limit.CancelAsync();
        await stop.WaitAsync(Limit);

        Assert.Equal([payment], Stages.Open.Snapshot());
    }

    private IReadOnlyCollection<string> Log => Stages.LogOf<OutcomeWriter>();

    private static Payment NewPayment(int epoch) => new(Guid.NewGuid(), 1990, Batches.Noon, epoch);

    private async Task<Payment> StoreAsync()
    {
        var payment = NewPayment(await Database.OpenEpochAsync());
        await Database.Payments.StoreAsync(Batches.ToStore([payment.Id], payment.Epoch, payment.AcceptedAt));
        Stages.Open.Add(payment);
        return payment;
    }

    private void Add(Payment payment, Epoch? owner = null, Processor? processor = null)
    {
        owner ??= Stages.Epoch;
        owner.Enter();
        owner.Unsettled.Add(payment);
        Stages.Outcomes.Add(new Settlement(
            owner, payment, processor ?? Known.Default, payment.AmountCents, Batches.Noon));
    }

    private async Task<Epoch> HoldLeaseAsync()
    {
        Stages.HoldLease(await Database.OpenEpochAsync());
        return Stages.Epoch;
    }

    private Task<long> CountSettledAsync() => Database.ScalarAsync<long>("SELECT count(*) FROM settlements");

    private Task TakeLedgerAwayAsync() => Database.ExecuteAsync("ALTER TABLE settlements RENAME TO taken_away");

    private Task BringLedgerBackAsync() => Database.ExecuteAsync("ALTER TABLE taken_away RENAME TO settlements");

    private async Task<(OutcomeWriter Writer, Payment Payment)> FailOnceAsync()
    {
        var payment = await StoreAsync();
        var writer = await Stages.StartAsync<OutcomeWriter>();
        await TakeLedgerAwayAsync();
        Add(payment);
        await HasFailedAsync(1);
        return (writer, payment);
    }

    // Beside the wait for the next try nothing has a timer then.
    private Task HasFailedAsync(int times) => Eventually.HoldsAsync(
        () => Log.Count(line => line.Contains(Failed, StringComparison.Ordinal)) == times
            && Clock.ArmedTimers == 1,
        $"it has failed {times} times");

    private Task AsksTheKeeperAsync() =>
        Stages.Lease.CheckSoon.WaitAsync(Timeout.InfiniteTimeSpan, CancellationToken.None).WaitAsync(Limit);

    // As often as it takes: a look that ends before the writer waits for it is none.
    private Task KeeperLooksAsync() => Eventually.HoldsAsync(
        () =>
        {
            Stages.Lease.NoteChecked();
            Clock.Advance(TimeSpan.FromMilliseconds(100));
            return Stages.Outcomes.Count == 0;
        },
        "the keeper's looks let the outcome go on");

    private static string Settle(Payment payment) => $"""
        INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
        SELECT correlation_id, accepted_at, 1, 1990, now() FROM payments WHERE correlation_id = '{payment.Id}'
        """;
}

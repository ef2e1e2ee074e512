namespace PaymentGateway.Tests.Leasing;

/// <summary>OrphanAdoption turn by turn: what it takes into memory and as what, and what it leaves alone.</summary>
public sealed class OrphanAdoptionPollTests : OneInstance
{
    private const int PageMax = 500;
    private const int RowsMax = 10_000;
    private const int DoubtsMax = 4_000;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan LeaseDuration = TimeSpan.FromSeconds(3);

    private int _mine;

    private OrphanAdoption Adoption => Stages.Part<OrphanAdoption>();

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _mine = await Database.OpenEpochAsync();
        Stages.HoldLease(_mine);
    }

    // The owner sends until its own lease ends, whenever its epoch was closed.
    [PostgresFact]
    public async Task The_horizon_begins_a_lease_after_the_first_search_that_found_the_epoch_closed()
    {
        var seenAt = Clock.GetTimestamp();
        await using (await Database.HoldAsync(PaymentsOf((await LeaveAsync(count: 1)).Owner)))
            await Adoption.AdoptAllAsync([]);
        Assert.Equal(0, Stages.Open.Count);
        Clock.Advance(TimeSpan.FromMinutes(1));

        await Adoption.AdoptAllAsync([]);

        var adopted = Assert.Single(Stages.Open.Snapshot());
        Assert.Equal(seenAt + Clock.TicksOf(LeaseDuration), adopted.DoubtSince);
    }

    [PostgresFact]
    public async Task The_horizon_of_a_payment_released_in_doubt_begins_a_lease_after_its_adoption()
    {
        var (owner, left) = await LeaveAsync(count: 1, close: false);
        // Settled, and so never adopted: the released ones are there from the first look on.
        await Database.ExecuteAsync(
            $"UPDATE payments SET owner_epoch = 0, may_be_at = 0 WHERE correlation_id <> '{left[0]}'");
        await Adoption.AdoptAllAsync([]);
        Clock.Advance(TimeSpan.FromMinutes(1));
        await Database.Leases.ReleaseAsync(new ReleaseArgs(owner, Batches.Earliest, left));

        await Adoption.AdoptAllAsync([]);

        var adopted = Assert.Single(Stages.Open.Snapshot());
        Assert.Equal(Clock.GetTimestamp() + Clock.TicksOf(LeaseDuration), adopted.DoubtSince);
    }

    [PostgresFact]
    public async Task Without_the_lease_nothing_is_adopted_and_with_it_all_orphans_are()
    {
        await LeaveAsync(count: 3);
        Stages.Lease.NoteRenewed(Stages.Epoch, Clock.GetTimestamp() - Clock.TicksOf(LeaseDuration));

        await Adoption.AdoptAllAsync([]);
        Assert.Equal(0, Stages.Open.Count);
        Stages.Lease.NoteRenewed(Stages.Epoch, Clock.GetTimestamp());
        await Adoption.AdoptAllAsync([]);

        Assert.Equal(3, Stages.Open.Count);
    }

    [PostgresFact]
    public async Task A_full_page_asks_for_the_next_renewal_at_once_and_the_end_of_a_search_is_stored()
    {
        var (owner, left) = await LeaveAsync(PageMax + 1);

        await Adoption.AdoptAllAsync([]);
        Assert.Equal(PageMax, Stages.Open.Count);
        Assert.True(await IsAskedForAsync());
        Assert.False(await IsAdoptedAsync(owner));
        await Adoption.AdoptAllAsync([]);

        Assert.Equal(left, Queued());
        Assert.False(await IsAskedForAsync());
        Assert.True(await IsAdoptedAsync(owner));
    }

    [PostgresFact]
    public async Task Payments_that_do_not_fit_into_the_queue_stay_in_the_table()
    {
        await using var small = Stages.Build(
            Database.ConnectionString, Clock, urls: null, ("Gateway:Intake:QueueCapacity", "4"));
        small.HoldLease(_mine);
        var adoption = small.Part<OrphanAdoption>();
        var (owner, _) = await LeaveAsync(count: 5);

        await adoption.AdoptAllAsync([]);
        await adoption.AdoptAllAsync([]);
        Assert.Equal(4, small.Open.Count);
        Assert.False(await IsAdoptedAsync(owner));
        while (small.Queue.TryTake(out _))
        {
            // Capacity for the rest.
        }

        await adoption.AdoptAllAsync([]);

        Assert.Equal(5, small.Open.Count);
        Assert.True(await IsAdoptedAsync(owner));
    }

    [PostgresFact]
    public async Task Payments_in_doubt_at_fallback_leave_capacity_for_those_that_default_alone_can_settle()
    {
        for (var doubt = 0; doubt < DoubtsMax; doubt++)
        {
            var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, _mine);
            payment.Adopt(Known.AtBoth, Clock.GetTimestamp());
            Stages.Doubts.Add(payment);
        }

        await LeaveAsync(count: 3, usedFallback: true);
        var (_, atDefault) = await LeaveAsync(count: 3);

        await Adoption.AdoptAllAsync([]);

        Assert.Equal(DoubtsMax, Stages.Doubts.Count);
        Assert.Equal(atDefault, Queued());
    }

    [PostgresFact]
    public async Task A_failed_adoption_is_logged_and_costs_neither_other_epochs_nor_the_lease()
    {
        var (held, _) = await LeaveAsync(count: 1);
        var (_, free) = await LeaveAsync(count: 3);

        await using (await Database.HoldAsync(PaymentsOf(held)))
            await Adoption.AdoptAllAsync([]);

        Assert.Equal(free, Queued());
        Assert.Equal(_mine, Stages.Epoch.Number);
        Assert.Contains(
            Stages.LogOf<OrphanAdoption>(),
            line => line.StartsWith($"Failed to adopt payments of epoch {held}", StringComparison.Ordinal));
        await Adoption.AdoptAllAsync([]);
        Assert.Equal(4, Stages.Open.Count);
    }

    [PostgresFact]
    public async Task An_adoption_without_an_answer_does_not_cost_the_epoch_that_began_meanwhile()
    {
        var next = await Database.OpenEpochAsync();

        await BreakAdoptionAsync(() => Stages.HoldLease(next));

        Assert.Equal((next, false), (Stages.Epoch.Number, Stages.Epoch.IsSpoiled));
    }

    // Perhaps it was committed: then the payments are this epoch's, and nobody here knows them.
    [PostgresFact]
    public async Task An_adoption_without_an_answer_spoils_the_epoch_and_keeps_the_low_water_mark_until_its_end()
    {
        var epoch = Stages.Epoch;
        epoch.Acceptances.Begin(1);

        await BreakAdoptionAsync(() => Assert.Equal(Batches.Earliest, epoch.ReadLowWaterMark()));

        Assert.Equal((0, 0), (Stages.Open.Count, Stages.Queue.Count));
        Assert.True(epoch.IsSpoiled);
        Assert.NotEqual(Batches.Earliest, epoch.ReadLowWaterMark());
    }

    // The statement is committed, and .NET has no such date.
    [PostgresFact]
    public async Task An_adoption_whose_answer_cannot_be_read_spoils_the_epoch()
    {
        var (_, left) = await LeaveAsync(count: 3);
        await Database.ExecuteAsync(
            $"UPDATE payments SET accepted_at = '20000-01-01Z' WHERE correlation_id = '{left[0]}'");

        var failed = await Record.ExceptionAsync(() => Adoption.AdoptAllAsync([]));

        Assert.IsNotAssignableFrom<NpgsqlException>(failed);
        Assert.Equal(3, await Database.ScalarAsync<long>($"SELECT count(*) FROM payments WHERE owner_epoch = {_mine}"));
        Assert.Equal(0, Stages.Open.Count);
        Assert.True(Stages.Epoch.IsSpoiled);
    }

    // Two slow statements before it would take longer than its limit, and the epoch would be lost as above.
    [PostgresFact]
    public async Task An_adoption_waits_behind_no_other_statement()
    {
        // Two of the connections are shared.
        const string Settings = ";Multiplexing=true;Maximum Pool Size=7;Options=-c statement_timeout=60s";
        await using var stages = Stages.Build(Database.ConnectionString + Settings, Clock, urls: null);
        var (owner, left) = await LeaveAsync(count: 3);
        await using var other = await Database.HoldAsync("SELECT pg_advisory_xact_lock(1)");
        var slow = new List<Task>();
        await Eventually.HoldsAsync(
            async () =>
            {
                slow.Add(stages.Part<SharedConnections>().RunAsync(LockAsync));
                return await Database.ScalarAsync<long>(
                    "SELECT count(*) FROM pg_stat_activity "
                    + "WHERE datname = current_database() AND wait_event_type = 'Lock'") == 2;
            },
            "both are busy");

        var adopted = await stages.Part<AdoptionStore>().AdoptAsync(new AdoptArgs(owner, _mine, Batches.Earliest, 10))
            .WaitAsync(Limit);

        Assert.Equal(left, adopted.Select(row => row.CorrelationId).Order());
        Assert.All(slow, statement => Assert.False(statement.IsCompleted));
        await other.ExecuteAsync("ROLLBACK");
        await Task.WhenAll(slow);

        static async Task<int> LockAsync(NpgsqlConnection connection)
        {
            await connection.OpenAsync();
            return await connection.ExecuteAsync("SELECT pg_advisory_xact_lock(1)");
        }
    }

    [PostgresFact]
    public async Task An_adoption_reads_a_page_of_settled_payments_at_a_time()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.StoreAsync(owner, 1, Batches.Noon);
        await Database.SettleAsync(owner, (2 * RowsMax) + 1, Batches.Noon.AddSeconds(1));
        await Database.StoreAsync(owner, 1, Batches.Noon.AddSeconds(2));
        await Database.Leases.CloseAsync(owner);

        var adopted = new List<int>();
        while (!await IsAdoptedAsync(owner))
        {
            await Adoption.AdoptAllAsync([]);
            adopted.Add(Stages.Open.Count);
        }

        Assert.Equal([1, 1, 2], adopted);
    }

    [PostgresFact]
    public async Task Payments_of_one_acceptance_time_are_adopted_although_a_page_ends_between_them()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.SettleAsync(owner, RowsMax - 1, Batches.Noon);
        for (var tie = 0; tie < 3; tie++)
            await Database.StoreAsync(owner, 1, Batches.Noon.AddSeconds(1));
        await Database.Leases.CloseAsync(owner);

        while (!await IsAdoptedAsync(owner))
            await Adoption.AdoptAllAsync([]);

        Assert.Equal(3, Stages.Open.Count);
    }

    // It would pass payments by that the other adopter may never take.
    [PostgresFact]
    public async Task A_page_that_another_adopter_has_claimed_is_read_again()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.SettleAsync(owner, RowsMax, Batches.Noon);
        await Database.StoreAsync(owner, 1, Batches.Noon.AddSeconds(1));
        await Database.SettleAsync(owner, RowsMax, Batches.Noon.AddSeconds(2));
        await Database.Leases.CloseAsync(owner);
        await Adoption.AdoptAllAsync([]);

        await using (await Database.HoldAsync($"SELECT FROM leases WHERE epoch = {owner} FOR UPDATE"))
            for (var turn = 0; turn < 4; turn++)
                await Adoption.AdoptAllAsync([]);

        Assert.Equal((0, false), (Stages.Open.Count, await IsAdoptedAsync(owner)));
        while (!await IsAdoptedAsync(owner))
            await Adoption.AdoptAllAsync([]);
        Assert.Equal(1, Stages.Open.Count);
    }

    // A statement that began before the epoch was closed may store at a time that the search has passed.
    [PostgresFact]
    public async Task A_search_that_began_before_the_last_statement_was_over_is_not_the_last()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.SettleAsync(owner, RowsMax, Batches.Noon.AddSeconds(1));
        await using (var late = await Database.HoldAsync($"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{Guid.NewGuid()}', 1990, '{Batches.Noon:O}', {owner})
            """))
        {
            await Database.Leases.CloseAsync(owner);
            await Adoption.AdoptAllAsync([]);
            await late.ExecuteAsync("COMMIT");
        }

        while (!await IsAdoptedAsync(owner))
            await Adoption.AdoptAllAsync([]);

        Assert.Equal(1, Stages.Open.Count);
    }

    // It knows where their payments may be, and another instance does not.
    [PostgresFact]
    public async Task A_former_epoch_of_an_instance_that_runs_is_left_to_it()
    {
        var lease = new OpenLeaseArgs("another", TimeSpan.FromMinutes(5), Stages.Processors);
        var former = await Database.Leases.OpenAsync(lease);
        var next = await Database.Leases.OpenAsync(lease);
        await Database.Leases.CloseAsync(former);

        Assert.DoesNotContain(await Database.Adoptions.OrphanedAsync("this"), one => one.Epoch == former);
        Assert.Contains(await Database.Adoptions.OrphanedAsync("another"), one => one.Epoch == former);
        await Database.Leases.CloseAsync(next);
        Assert.Contains(await Database.Adoptions.OrphanedAsync("this"), one => one.Epoch == former);
    }

    [PostgresFact]
    public async Task The_next_epoch_takes_over_what_this_process_knows_as_it_is_and_the_rest_as_a_strangers()
    {
        const long since = 123;
        var former = Stages.Epoch;
        var stored = await Database.StoreAsync(_mine, 5);
        var known = stored.Ids.Select((id, at) => new Payment(id, 1990, stored.AcceptedAts[at], _mine)).ToList();
        var (waiting, inDoubt, settled) = (known[0], known[1], known[4]);
        inDoubt.Adopt(Known.AtDefault, since);
        inDoubt.Doubt();
        settled.Charge(Known.Default, Batches.Noon);
        settled.Answer(Known.Default, ChargeResult.Settled, now: 0);
        foreach (var payment in new[] { waiting, inDoubt, settled })
            former.Unsettled.Add(payment);
        // The third one waits in the table, and of the fourth one this process knows nothing.
        former.Backlog.Add(new AcceptanceBatch(1, stored.AcceptedAts[2], stored.AcceptedAts[2]));
        var next = await Database.OpenEpochAsync();
        Stages.HoldLease(next);
        await Database.Leases.CloseAsync(_mine);

        await Adoption.AdoptAllAsync([_mine]);

        var taken = stored.Ids.Select(id => Stages.Open.Snapshot().Single(payment => payment.Id == id)).ToList();
        Assert.Same(waiting, taken[0]);
        Assert.Same(inDoubt, taken[1]);
        Assert.Equal((PaymentPhase.InDoubt, since), (inDoubt.Phase, inDoubt.DoubtSince));
        Assert.Equal(
            [default, Known.AtDefault, default, Known.AtDefault, Known.AtDefault],
            taken.ConvertAll(payment => payment.MayBeAt));
        Assert.All(taken, payment => Assert.Equal(next, payment.Epoch));
        Assert.Equal(1, Stages.Doubts.Count);
    }

    [PostgresFact]
    public async Task While_a_charge_of_a_former_epoch_is_in_flight_nothing_of_it_is_taken_over()
    {
        var former = Stages.Epoch;
        former.Enter();
        await Database.StoreAsync(_mine, 3);
        Stages.HoldLease(await Database.OpenEpochAsync());
        await Database.Leases.CloseAsync(_mine);

        await Adoption.AdoptAllAsync([_mine]);
        Assert.Equal(0, Stages.Open.Count);
        former.Leave();
        await Adoption.AdoptAllAsync([_mine]);

        Assert.Equal(3, Stages.Open.Count);
    }

    // One processor's silence would hold up what the other one alone can settle.
    [PostgresFact]
    public async Task Doubts_do_not_hold_up_the_takeover_of_what_the_former_epoch_never_sent()
    {
        var former = Stages.Epoch;
        await Database.ExecuteAsync($"UPDATE leases SET used_processors = 6 WHERE epoch = {_mine}");
        var stored = await Database.StoreAsync(_mine, 3);
        foreach (var (id, at) in stored.Ids.Select((id, at) => (id, at)))
            former.Unsettled.Add(new Payment(id, 1990, stored.AcceptedAts[at], _mine));
        Stages.HoldLease(await Database.OpenEpochAsync());
        for (var doubt = 0; doubt < DoubtsMax; doubt++)
        {
            var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, Stages.Epoch.Number);
            payment.Adopt(Known.AtBoth, Clock.GetTimestamp());
            Stages.Doubts.Add(payment);
        }

        await Database.Leases.CloseAsync(_mine);
        await Adoption.AdoptAllAsync([_mine]);

        Assert.Equal(stored.Ids, Queued());
    }

    // A renewal passes a locked lease by, so it closes it later.
    [PostgresFact]
    public async Task A_former_epoch_is_forgotten_when_all_is_taken_over_and_not_before_its_close()
    {
        Stages.HoldLease(await Database.OpenEpochAsync());

        await Adoption.AdoptAllAsync([_mine]);
        Assert.Contains(_mine, Stages.Lease.Former.Keys);
        await Database.Leases.CloseAsync(_mine);
        await Adoption.AdoptAllAsync([_mine]);
        await Adoption.AdoptAllAsync([_mine]);

        Assert.Empty(Stages.Lease.Former);
    }

    [PostgresFact]
    public async Task A_release_commits_a_page_of_payments_at_a_time()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.StoreAsync(owner, 1, Batches.Noon);
        await Database.SettleAsync(owner, RowsMax, Batches.Noon.AddSeconds(1));
        var last = (await Database.StoreAsync(owner, 1, Batches.Noon.AddSeconds(2))).Ids[0];
        Task<int> releasing;
        await using (await Database.HoldAsync($"SELECT FROM payments WHERE correlation_id = '{last}' FOR UPDATE"))
        {
            releasing = Database.Leases.ReleaseAsync(new ReleaseArgs(owner, Batches.Earliest, []));
            await Eventually.HoldsAsync(
                () => Database.ScalarAsync<bool>("SELECT EXISTS (SELECT FROM payments WHERE owner_epoch = 0)"),
                "the first page is released");
        }

        Assert.Equal(2, await releasing);
    }

    /// <summary>The server process of an adoption ends after this was done.</summary>
    private async Task BreakAdoptionAsync(Action meanwhile)
    {
        await LeaveAsync(count: 3);
        // Who moves payments waits for this before it has set a limit to its wait; who reads them does not.
        await using var held = await Database.HoldAsync("LOCK TABLE payments IN SHARE MODE");
        var adopting = Adoption.AdoptAllAsync([]);
        await Database.WaitsForLockAsync("it waits for the table");
        meanwhile();
        await Database.ExecuteAsync(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            + "WHERE datname = current_database() AND wait_event_type = 'Lock'");

        await Assert.ThrowsAnyAsync<NpgsqlException>(() => adopting.WaitAsync(Limit));
        await held.ExecuteAsync("ROLLBACK");
    }

    /// <summary>An epoch that left these payments unsettled, and one that it had settled.</summary>
    private async Task<(int Owner, Guid[] Left)> LeaveAsync(int count, bool usedFallback = false, bool close = true)
    {
        var owner = await Database.OpenEpochAsync();
        await Database.ExecuteAsync(
            $"UPDATE leases SET used_processors = {(usedFallback ? 6 : 2)} WHERE epoch = {owner}");
        await Database.SettleAsync(owner, 1, Batches.Noon.AddHours(-1));
        var left = await Database.StoreAsync(owner, count);
        if (close)
            await Database.Leases.CloseAsync(owner);
        return (owner, left.Ids);
    }

    private static string PaymentsOf(int owner) => $"SELECT 1 FROM payments WHERE owner_epoch = {owner} FOR UPDATE";

    /// <summary>What is in the queue, in the order of the ids.</summary>
    private IEnumerable<Guid> Queued()
    {
        var queued = new List<Guid>();
        while (Stages.Queue.TryTake(out var payment))
            queued.Add(payment.Id);
        return queued.Order();
    }

    /// <summary>Whether the next renewal was asked for; the question is taken back.</summary>
    private async Task<bool> IsAskedForAsync()
    {
        var asking = Stages.Lease.CheckSoon.WaitAsync(TimeSpan.FromSeconds(1), CancellationToken.None);
        var isAsked = asking.IsCompleted;
        Clock.Advance(TimeSpan.FromSeconds(1));
        await asking;
        return isAsked;
    }

    private Task<bool> IsAdoptedAsync(int owner) => Database.LeaseAsync<bool>(owner, "adopted_at IS NOT NULL");
}

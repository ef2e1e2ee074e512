using Npgsql;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;
using PaymentGateway.Timing;

namespace PaymentGateway.Tests.Leasing;

/// <summary>OrphanAdoption turn by turn: what it takes into memory and as what, and what it leaves alone.</summary>
public sealed class OrphanAdoptionPollTests : IAsyncLifetime
{
    private const int PageMax = 500;
    private const int DoubtsMax = 4_000;

    private const string Waiting =
        "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan LeaseDuration = TimeSpan.FromSeconds(3);
    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    private readonly TestDatabase _database = new();
    private readonly WatchedClock _clock = new();
    private Stages _stages = null!;
    private int _mine;

    private OrphanAdoption Adoption => _stages.Part<OrphanAdoption>();

    public async Task InitializeAsync()
    {
        await _database.InitializeAsync();
        if (!PostgresServer.IsInstalled)
            return;

        _stages = Stages.Build(_database.ConnectionString, _clock, urls: null);
        _mine = await _database.OpenEpochAsync();
        _stages.HoldLease(_mine);
    }

    public async Task DisposeAsync()
    {
        if (_stages is not null)
            await _stages.DisposeAsync();
        await _database.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_payment_that_a_clean_stop_released_unsent_is_queued_as_new()
    {
        var (owner, left) = await LeaveAsync(count: 3, close: false);
        await _database.Leases.ReleaseAsync(new ReleaseArgs(owner, Earliest, []));

        await Adoption.AdoptAllAsync();

        Assert.Equal(left, Queued(payment => !payment.InDoubt && payment.Epoch == _mine));
        Assert.Equal((3, 0), (_stages.Open.Count, _stages.Doubts.Count));
    }

    [PostgresFact]
    public async Task Payments_of_an_owner_that_never_used_fallback_are_queued_as_charged_at_default()
    {
        var (_, left) = await LeaveAsync(count: 3);

        await Adoption.AdoptAllAsync();

        Assert.Equal(left, Queued(payment => payment is { InDoubt: true, ChargedAt: Processor.Default }));
        Assert.Equal((3, 0), (_stages.Open.Count, _stages.Doubts.Count));
    }

    [PostgresFact]
    public async Task Payments_of_an_owner_that_used_fallback_are_looked_up_at_both_and_not_queued()
    {
        await LeaveAsync(count: 3, usedFallback: true);

        await Adoption.AdoptAllAsync();

        Assert.All(_stages.Open.Snapshot(), payment => Assert.True(payment is { InDoubt: true, ChargedAt: null }));
        Assert.Equal((3, 3, 0), (_stages.Open.Count, _stages.Doubts.Count, _stages.Queue.Count));
    }

    // The owner sends until its own lease ends, whenever its epoch was closed.
    [PostgresFact]
    public async Task The_horizon_begins_a_lease_after_the_first_search_that_found_the_epoch_closed()
    {
        var seenAt = _clock.GetTimestamp();
        await using (await LockPaymentsOfAsync((await LeaveAsync(count: 1)).Owner))
            await Adoption.AdoptAllAsync();
        Assert.Equal(0, _stages.Open.Count);
        _clock.Advance(TimeSpan.FromMinutes(1));

        await Adoption.AdoptAllAsync();

        var adopted = Assert.Single(_stages.Open.Snapshot());
        Assert.Equal(seenAt + _clock.TicksOf(LeaseDuration), adopted.DoubtSince);
    }

    [PostgresFact]
    public async Task The_horizon_of_a_payment_released_in_doubt_begins_a_lease_after_its_adoption()
    {
        var (owner, left) = await LeaveAsync(count: 1, close: false);
        // Settled, and so never adopted: the released ones are there from the first look on.
        await _database.ExecuteAsync($"UPDATE payments SET owner_epoch = 0 WHERE correlation_id <> '{left[0]}'");
        await Adoption.AdoptAllAsync();
        _clock.Advance(TimeSpan.FromMinutes(1));
        await _database.Leases.ReleaseAsync(new ReleaseArgs(owner, Earliest, left));

        await Adoption.AdoptAllAsync();

        var adopted = Assert.Single(_stages.Open.Snapshot());
        Assert.Equal(_clock.GetTimestamp() + _clock.TicksOf(LeaseDuration), adopted.DoubtSince);
    }

    [PostgresFact]
    public async Task Without_the_lease_nothing_is_adopted_and_with_it_all_orphans_are()
    {
        await LeaveAsync(count: 3);
        _stages.Lease.Renewed(_clock.GetTimestamp() - _clock.TicksOf(LeaseDuration));

        await Adoption.AdoptAllAsync();
        Assert.Equal(0, _stages.Open.Count);
        _stages.Lease.Renewed(_clock.GetTimestamp());
        await Adoption.AdoptAllAsync();

        Assert.Equal(3, _stages.Open.Count);
    }

    [PostgresFact]
    public async Task A_full_page_asks_for_the_next_renewal_at_once_and_the_end_of_a_search_is_stored()
    {
        var (owner, left) = await LeaveAsync(PageMax + 1);

        await Adoption.AdoptAllAsync();
        Assert.Equal(PageMax, _stages.Open.Count);
        Assert.True(await IsAskedForAsync());
        Assert.False(await IsAdoptedAsync(owner));
        await Adoption.AdoptAllAsync();

        Assert.Equal(left, Queued(_ => true));
        Assert.False(await IsAskedForAsync());
        Assert.True(await IsAdoptedAsync(owner));
    }

    [PostgresFact]
    public async Task Payments_that_do_not_fit_into_the_queue_stay_in_the_table()
    {
        await using var small = Stages.Build(
            _database.ConnectionString, _clock, urls: null, ("Gateway:Intake:QueueCapacity", "4"));
        small.HoldLease(_mine);
        var adoption = small.Part<OrphanAdoption>();
        var (owner, _) = await LeaveAsync(count: 5);

        await adoption.AdoptAllAsync();
        await adoption.AdoptAllAsync();
        Assert.Equal(4, small.Open.Count);
        Assert.False(await IsAdoptedAsync(owner));
        while (small.Queue.TryTake(out _))
        {
            // Capacity for the rest.
        }

        await adoption.AdoptAllAsync();

        Assert.Equal(5, small.Open.Count);
        Assert.True(await IsAdoptedAsync(owner));
    }

    [PostgresFact]
    public async Task Payments_in_doubt_at_fallback_leave_capacity_for_those_that_default_alone_can_settle()
    {
        // Not held, so that they wait without asking anybody.
        _stages.Lease.Renewed(_clock.GetTimestamp() - _clock.TicksOf(LeaseDuration));
        for (var doubt = 0; doubt < DoubtsMax; doubt++)
            _stages.Doubts.Add(new Payment(Guid.NewGuid(), 1990, Batches.Noon, _mine) { InDoubt = true });
        _stages.HoldLease(_mine);
        await LeaveAsync(count: 3, usedFallback: true);
        var (_, atDefault) = await LeaveAsync(count: 3);

        await Adoption.AdoptAllAsync();

        Assert.Equal(DoubtsMax, _stages.Doubts.Count);
        Assert.Equal(atDefault, Queued(_ => true));
    }

    [PostgresFact]
    public async Task A_closed_epoch_is_searched_until_every_earlier_statement_is_over()
    {
        var (owner, _) = await LeaveAsync(count: 1, close: false);
        await using var late = await _database.Source.OpenConnectionAsync();
        await using var transaction = await late.BeginTransactionAsync();
        await StoreOnAsync(late, owner);
        await _database.Leases.CloseAsync(owner);

        await Adoption.AdoptAllAsync();
        Assert.Equal(1, _stages.Open.Count);
        Assert.False(await IsAdoptedAsync(owner));
        await transaction.CommitAsync();
        await Adoption.AdoptAllAsync();

        Assert.Equal(2, _stages.Open.Count);
        Assert.True(await IsAdoptedAsync(owner));
    }

    [PostgresFact]
    public async Task A_failed_adoption_is_logged_and_costs_neither_other_epochs_nor_the_lease()
    {
        var (held, _) = await LeaveAsync(count: 1);
        var (_, free) = await LeaveAsync(count: 3);

        await using (await LockPaymentsOfAsync(held))
            await Adoption.AdoptAllAsync();

        Assert.Equal(free, Queued(_ => true));
        Assert.Equal(_mine, _stages.Lease.Epoch);
        Assert.Contains(
            _stages.LogOf<OrphanAdoption>(),
            line => line.StartsWith($"Payments of epoch {held} could not be adopted", StringComparison.Ordinal));
        await Adoption.AdoptAllAsync();
        Assert.Equal(4, _stages.Open.Count);
    }

    [PostgresFact]
    public async Task An_adoption_without_an_answer_does_not_cost_the_epoch_that_began_meanwhile()
    {
        var next = await _database.OpenEpochAsync();

        await BreakAdoptionAsync(() => _stages.HoldLease(next));

        Assert.Equal(next, _stages.Lease.Epoch);
    }

    // Perhaps it was committed: then the payments are this epoch's, and nobody here knows them.
    [PostgresFact]
    public async Task An_adoption_without_an_answer_costs_the_epoch_and_keeps_the_low_water_mark_until_its_end()
    {
        Assert.Null(Adoption.Oldest());

        await BreakAdoptionAsync(() => Assert.Equal(Earliest, Adoption.Oldest()));

        Assert.Equal((0, 0), (_stages.Open.Count, _stages.Queue.Count));
        Assert.True(
            await _database.ScalarAsync<bool>($"SELECT closed_at IS NOT NULL FROM leases WHERE epoch = {_mine}"));
        Assert.Equal(0, _stages.Lease.Epoch);
        Assert.Null(Adoption.Oldest());
    }

    // Two slow statements before it would take longer than its limit, and the epoch would be lost as above.
    [PostgresFact]
    public async Task An_adoption_waits_behind_no_other_statement()
    {
        // Two of the connections are shared.
        const string Settings = ";Multiplexing=true;Maximum Pool Size=7;Options=-c statement_timeout=60s";
        await using var stages = Stages.Build(_database.ConnectionString + Settings, _clock, urls: null);
        var (owner, left) = await LeaveAsync(count: 3);
        await using var other = await _database.Source.OpenConnectionAsync();
        await using var command = new NpgsqlCommand("SELECT pg_advisory_lock(1)", other);
        await command.ExecuteNonQueryAsync();
        var slow = new List<Task>();
        await Eventually.HoldsAsync(
            async () =>
            {
                slow.Add(stages.Part<SharedConnections>().RunAsync(LockAsync));
                return await _database.ScalarAsync<long>($"SELECT count(*) {Waiting}") == 2;
            },
            "both are busy");

        var adopted = await stages.Part<LeaseStore>().AdoptAsync(new AdoptArgs(owner, _mine, Earliest, 10))
            .WaitAsync(Limit);

        Assert.Equal(left, adopted.Select(row => row.CorrelationId).Order());
        Assert.All(slow, statement => Assert.False(statement.IsCompleted));
        command.CommandText = "SELECT pg_advisory_unlock(1)";
        await command.ExecuteNonQueryAsync();
        await Task.WhenAll(slow);

        static async Task<int> LockAsync(NpgsqlConnection connection)
        {
            await connection.OpenAsync();
            await using var command = new NpgsqlCommand("SELECT pg_advisory_xact_lock(1)", connection);
            return await command.ExecuteNonQueryAsync();
        }
    }

    /// <summary>The server process of an adoption ends after this was done.</summary>
    private async Task BreakAdoptionAsync(Action meanwhile)
    {
        await LeaveAsync(count: 3);
        await using var other = await _database.Source.OpenConnectionAsync();
        // Who moves payments waits for this before it has set a limit to its wait; who reads them does not.
        var transaction = await other.BeginTransactionAsync();
        await using (var command = new NpgsqlCommand("LOCK TABLE payments IN SHARE MODE", other))
            await command.ExecuteNonQueryAsync();

        var adopting = Adoption.AdoptAllAsync();
        await Eventually.HoldsAsync(
            () => _database.ScalarAsync<bool>($"SELECT EXISTS (SELECT {Waiting})"), "it waits for the table");
        meanwhile();
        await _database.ExecuteAsync($"SELECT pg_terminate_backend(pid) {Waiting}");

        await Assert.ThrowsAnyAsync<NpgsqlException>(() => adopting.WaitAsync(Limit));
        await transaction.RollbackAsync();
    }

    /// <summary>An epoch that left these payments unsettled, and one that it had settled.</summary>
    private async Task<(int Owner, Guid[] Left)> LeaveAsync(int count, bool usedFallback = false, bool close = true)
    {
        var owner = await _database.OpenEpochAsync();
        await _database.ExecuteAsync($"UPDATE leases SET used_fallback = {usedFallback} WHERE epoch = {owner}");
        var settled = Batches.ToStore(Batches.SortedIds(1), owner, Batches.Noon.AddHours(-1));
        await _database.Payments.StoreAsync(settled);
        await _database.Ledger.RecordAsync(Batches.ToRecord(settled));
        var left = Batches.ToStore(Batches.SortedIds(count), owner);
        await _database.Payments.StoreAsync(left);
        if (close)
            await _database.Leases.CloseAsync(owner);
        return (owner, left.Ids);
    }

    private static async Task StoreOnAsync(NpgsqlConnection connection, int owner)
    {
        await using var command = new NpgsqlCommand(
            $"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{Guid.NewGuid()}', 1990, '{Batches.Noon:O}', {owner})
            """,
            connection);
        await command.ExecuteNonQueryAsync();
    }

    private async Task<NpgsqlConnection> LockPaymentsOfAsync(int owner)
    {
        var connection = new NpgsqlConnection(_database.ConnectionString + ";Pooling=false");
        await connection.OpenAsync();
        await using var command = new NpgsqlCommand(
            $"BEGIN; SELECT 1 FROM payments WHERE owner_epoch = {owner} FOR UPDATE", connection);
        await command.ExecuteNonQueryAsync();
        return connection;
    }

    /// <summary>What is in the queue, each of it as expected, in the order of the ids.</summary>
    private IEnumerable<Guid> Queued(Predicate<Payment> expected)
    {
        var queued = new List<Guid>();
        while (_stages.Queue.TryTake(out var payment))
        {
            Assert.True(expected(payment), $"{payment.InDoubt} {payment.ChargedAt} {payment.Epoch}");
            queued.Add(payment.Id);
        }

        return queued.Order();
    }

    /// <summary>Whether the next renewal was asked for; the question is taken back.</summary>
    private async Task<bool> IsAskedForAsync()
    {
        var asking = _stages.Lease.CheckSoon.WaitAsync(TimeSpan.FromSeconds(1), CancellationToken.None);
        var isAsked = asking.IsCompleted;
        _clock.Advance(TimeSpan.FromSeconds(1));
        await asking;
        return isAsked;
    }

    private Task<bool> IsAdoptedAsync(int owner) =>
        _database.ScalarAsync<bool>($"SELECT adopted_at IS NOT NULL FROM leases WHERE epoch = {owner}");
}

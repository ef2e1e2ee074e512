namespace PaymentGateway.Tests.Leasing;

/// <summary>LeaseKeeper renewal by renewal, on a clock of the test's.</summary>
public sealed class LeaseKeeperRenewalTests : OwnDatabase
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    // Below the 0.8 s that a statement of the lease may take, so that none on its way ends by it.
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(700);

    private static readonly TimeSpan LeaseDuration = TimeSpan.FromSeconds(3);

    private readonly WatchedClock _clock = new();
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("keeper");
    private Stages _stages = null!;
    private string? _name;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        // A wall clock as the database's: what is accepted is stored by it.
        _clock.SetUtcNow(DateTimeOffset.UtcNow);
        _stages = Stages.Build(Database.ConnectionString, _clock, $"http://unix:{_directory.FullName}/api.sock");
        // Npgsql's own limit of a second is real time: no first statement of a test has to open a connection.
        await _stages.Part<LeaseStore>().AnswersAsync();
    }

    public override async Task DisposeAsync()
    {
        if (_stages is not null)
            await _stages.DisposeAsync();
        _directory.Delete(recursive: true);
        await base.DisposeAsync();
    }

    [PostgresFact]
    public async Task Without_PostgreSQL_the_start_goes_on_with_one_log_line_and_the_lease_comes_once_it_answers()
    {
        await AllowAsync(false);

        await _stages.StartAsync<LeaseKeeper>();
        Assert.Equal((0, false), (_stages.Epoch.Number, _stages.Lease.IsTrusted));
        await Eventually.HoldsAsync(RenewalAndAsync(() => CountRefusedAsync(3)), "three renewals were refused");
        Assert.Equal(0, _stages.Epoch.Number);
        await AllowAsync(true);

        await Eventually.HoldsAsync(
            RenewalAndAsync(() => Task.FromResult(_stages.Lease.IsTrusted)), "the lease is there");
        Assert.Single(
            _stages.ShownOf<LeaseKeeper>(),
            line => line.StartsWith("PostgreSQL is unavailable", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task Tables_lost_with_their_server_are_created_again()
    {
        await _stages.StartAsync<LeaseKeeper>();
        await Database.ExecuteAsync(
            "DROP TABLE settlement_totals, settlements, payments, ledger, ledger_intact, leases, processor_health, "
            + "schema_version, doubts, instance_readings, operator_actions, processors, payment_events, webhooks, "
            + "open_epochs, payers");

        await Eventually.HoldsAsync(
            RenewalAndAsync(() => Database.ScalarAsync<bool>("SELECT to_regclass('leases') IS NOT NULL")),
            "the tables are there again");
        await Eventually.HoldsAsync(
            RenewalAndAsync(async () => _stages.Lease.IsTrusted && await OpenEpochAsync() == _stages.Epoch.Number),
            "it holds a lease there");
    }

    [PostgresFact]
    public async Task The_lease_is_renewed_at_each_interval_and_for_its_whole_duration()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var epoch = _stages.Epoch.Number;
        var first = await RenewalAsync();
        // Advanced before the keeper waits, the clock would put its next renewal off.
        await Eventually.HoldsAsync(() => _clock.WakesIn(TimeSpan.FromSeconds(1)), "the keeper waits for its interval");
        _clock.Advance(Step);
        Assert.Equal(first, await RenewalAsync());
        _clock.Advance(TimeSpan.FromSeconds(1) - Step);
        await Eventually.HoldsAsync(async () => await RenewalAsync() > first, "the next renewal has come");

        for (var time = TimeSpan.Zero; time < 3 * LeaseDuration; time += Step)
        {
            await PassAsync(Step);
            Assert.True(_stages.Lease.IsTrusted);
        }

        Assert.Equal((epoch, epoch), (_stages.Epoch.Number, await OpenEpochAsync()));
    }

    [PostgresFact]
    public async Task A_part_that_the_dashboard_cannot_read_costs_no_lease()
    {
        _stages.Part<GatewayMetrics>().AddLanes(_ => throw new InvalidOperationException("It cannot be read."));
        await _stages.StartAsync<LeaseKeeper>();
        var epoch = _stages.Epoch.Number;

        for (var time = TimeSpan.Zero; time < 2 * LeaseDuration; time += Step)
            await PassAsync(Step);

        Assert.Equal((epoch, true), (_stages.Epoch.Number, _stages.Lease.IsTrusted));
        Assert.DoesNotContain(
            _stages.ShownOf<LeaseKeeper>(), line => line.Contains("unavailable", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task The_low_water_mark_of_a_renewal_is_the_oldest_unsettled_payment()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var anHourAgo = Timestamps.Truncate(_clock.GetUtcNow().UtcDateTime.AddHours(-1));

        _stages.Epoch.Acceptances.End(_stages.Epoch.Acceptances.Begin(1));
        var open = new Payment(Guid.NewGuid(), 1990, anHourAgo, _stages.Epoch.Number);
        _stages.Open.Add(open);
        Assert.Equal(open.AcceptedAt, await LowWaterMarkAsync());

        _stages.Open.Remove(open);
        _stages.Epoch.Acceptances.End(_stages.Epoch.Acceptances.Begin(1));
        Assert.True(await LowWaterMarkAsync() > open.AcceptedAt);
    }

    // A renewal could raise the low-water mark above rows that nobody here knows.
    [PostgresFact]
    public async Task A_spoiled_epoch_is_not_renewed_and_the_next_one_begins_and_closes_it()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var spoiled = _stages.Epoch;
        var renewal = await Database.LeaseAsync<long>(spoiled.Number, "renewal");

        spoiled.Spoil("of a test");
        // The keeper may only now come to its pause between two epochs, because its first adoption is slow.
        _clock.Advance(Step);
        await Eventually.HoldsAsync(
            RenewalAndAsync(() => Task.FromResult(_stages.Epoch.Number > spoiled.Number)), "the next one begins");
        await Eventually.HoldsAsync(
            RenewalAndAsync(() => IsClosedAsync(spoiled.Number)), "the spoiled one is closed");

        Assert.Equal(renewal, await Database.LeaseAsync<long>(spoiled.Number, "renewal"));
        Assert.True(spoiled.HasEnded);
        Assert.Contains(
            $"Epoch {spoiled.Number} ended, because of a test; the next one takes its 0 payments over", Log);
        await Eventually.HoldsAsync(
            RenewalAndAsync(() => Task.FromResult(_stages.Lease.Former.Count == 0)), "it is forgotten");
        Assert.Contains(
            $"All payments of this instance's epoch {spoiled.Number} are taken over",
            _stages.LogOf<OrphanAdoption>());
    }

    [PostgresFact]
    public async Task An_epoch_that_another_instance_closed_is_abandoned_and_a_new_one_begins()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var lost = _stages.Epoch.Number;
        var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, lost);
        _stages.Open.Add(payment);
        await Database.Leases.CloseAsync(lost);

        await NextRenewalAsync();

        Assert.True(_stages.Epoch.Number > lost);
        Assert.True(_stages.Lease.IsTrusted);
        Assert.False(_stages.Lease.MayCharge(payment));
        Assert.Equal(0, _stages.Open.Count);
        Assert.Contains($"Epoch {lost} was closed by another instance; its 1 payments can be adopted", Log);
    }

    [PostgresFact]
    public async Task A_spoiled_epoch_that_another_instance_has_closed_is_lost()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var lost = _stages.Epoch;
        lost.Unsettled.Add(new Payment(Guid.NewGuid(), 1990, Batches.Noon, lost.Number));
        await Database.Leases.CloseAsync(lost.Number);

        lost.Spoil("a test");
        _clock.Advance(Step);
        await Eventually.HoldsAsync(
            RenewalAndAsync(() => Task.FromResult(_stages.Epoch.Number > lost.Number)), "the next one begins");

        Assert.True(lost.HasEnded);
        await Eventually.HoldsAsync(
            () => Log.Contains($"Epoch {lost.Number} was closed by another instance; its 1 payments can be adopted"),
            "the loss is told");
    }

    // Its process is proven to be gone by the lock beside the socket; another identity's is not.
    [PostgresFact]
    public async Task An_earlier_epoch_of_this_socket_is_closed_at_once_and_that_of_another_keeps_its_lease()
    {
        var identity = _stages.Part<InstanceLock>().Identity;
        var before = await Database.Leases.OpenAsync(new OpenLeaseArgs(
            identity, TimeSpan.FromMinutes(5), Stages.Processors));
        var another = await Database.Leases.OpenAsync(new OpenLeaseArgs(
            "another", TimeSpan.FromMinutes(5), Stages.Processors));

        await _stages.StartAsync<LeaseKeeper>();

        Assert.True(await IsClosedAsync(before));
        Assert.False(await IsClosedAsync(another));
    }

    // After an outage every lease has expired, and the others get the time to renew theirs.
    [PostgresFact]
    public async Task An_expired_lease_is_closed_only_after_a_lease_of_renewals_without_a_pause()
    {
        var expired = await Database.Leases.OpenAsync(new OpenLeaseArgs("another", TimeSpan.Zero));
        await _stages.StartAsync<LeaseKeeper>();
        for (var time = Step; time < LeaseDuration; time += Step)
            await PassAsync(Step);
        Assert.False(await IsClosedAsync(expired));

        // Time that passed in one piece was no turn's.
        _clock.Advance(10 * LeaseDuration);
        await NextRenewalAsync();
        Assert.False(await IsClosedAsync(expired));

        for (var time = TimeSpan.Zero; time <= LeaseDuration; time += Step)
            await PassAsync(Step);
        Assert.True(await IsClosedAsync(expired));
    }

    [PostgresFact]
    public async Task A_clean_stop_closes_the_epoch_and_releases_unsent_payments_and_payments_in_doubt_as_such()
    {
        var keeper = await _stages.StartAsync<LeaseKeeper>();
        var stored = await Database.StoreAsync(_stages.Epoch.Number, 3);
        var payments = stored.Ids.Select((id, at) =>
            new Payment(id, 1990, stored.AcceptedAts[at], stored.OwnerEpoch)).ToList();
        payments.ForEach(_stages.Open.Add);
        payments[1].Adopt(Known.AtDefault, _clock.GetTimestamp());
        await Database.Ledger.RecordAsync(Batches.ToRecord(
            Batches.ToStore(stored.Ids[2..], stored.OwnerEpoch, stored.AcceptedAts[2])));

        await keeper.StopAsync(CancellationToken.None);

        Assert.Equal((true, false), (_stages.Epoch.HasEnded, _stages.Lease.IsTrusted));
        Assert.True(await IsClosedAsync(stored.OwnerEpoch));
        Assert.Equal(
            $"0/0 0/2 {stored.OwnerEpoch}/",
            await Database.ScalarAsync<string>(
                "SELECT string_agg(concat(owner_epoch, '/', may_be_at), ' ' ORDER BY accepted_at) FROM payments"));
        Assert.Contains($"Epoch {stored.OwnerEpoch} ends, 2 payments are released, 1 of them in doubt", Log);
    }

    [PostgresFact]
    public async Task A_stop_without_PostgreSQL_ends_and_leaves_the_lease_to_expire()
    {
        var keeper = await _stages.StartAsync<LeaseKeeper>();
        var epoch = _stages.Epoch.Number;
        await AllowAsync(false);

        await keeper.StopAsync(CancellationToken.None).WaitAsync(Limit);

        await AllowAsync(true);
        Assert.True(_stages.Epoch.HasEnded);
        Assert.False(await IsClosedAsync(epoch));
        Assert.Contains(Log, line => line.StartsWith($"Epoch {epoch} ends without release", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task A_purge_stops_charges_while_a_search_for_orphans_hangs()
    {
        await _stages.StartAsync<LeaseKeeper>();
        var epoch = _stages.Epoch;
        await using var other = await Statements.OpenAsync(Database.ConnectionString);
        await using var locks = await other.BeginTransactionAsync();
        await Statements.ExecuteAsync(other, "LOCK TABLE payments IN ACCESS EXCLUSIVE MODE");
        await Eventually.HoldsAsync(RenewalAndAsync(WaitsAsync), "a search waits");

        await Database.ExecuteAsync("UPDATE ledger SET generation = generation + 1");
        // Until then the keeper hopes that the search ends at once.
        _clock.Advance(Step);
        await Eventually.HoldsAsync(RenewalAndAsync(() => Task.FromResult(!epoch.MayCharge)), "charges stop");

        Assert.True(await WaitsAsync());

        Task<bool> WaitsAsync() => Database.ScalarAsync<bool>(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'payments'::regclass AND NOT granted)");
    }

    private IReadOnlyCollection<string> Log => _stages.LogOf<LeaseKeeper>();

    /// <summary>Time in which the keeper renews; the statements that were on their way then are over.</summary>
    private async Task PassAsync(TimeSpan time)
    {
        _clock.Advance(time);
        await NextRenewalAsync();
    }

    // A renewal that finds earlier duties in flight, or no database, ends in no check: the next one is asked for.
    private Task NextRenewalAsync()
    {
        var checks = _stages.Lease.NextCheckAsync(CancellationToken.None);
        return Eventually.HoldsAsync(RenewalAndAsync(() => Task.FromResult(checks.IsCompleted)), "the keeper checks");
    }

    private Func<Task<bool>> RenewalAndAsync(Func<Task<bool>> conditionAsync) => () =>
    {
        _stages.Lease.CheckSoon.Set();
        return conditionAsync();
    };

    /// <summary>Lets the server take connections to this database, or ends those that are there.</summary>
    private async Task AllowAsync(bool allow)
    {
        _name ??= await Database.ScalarAsync<string>("SELECT current_database()::text");
        await Database.Server.ExecuteAsync(
            $"ALTER DATABASE {_name} WITH ALLOW_CONNECTIONS {allow}; "
            + $"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_name}' AND {!allow}");
        Database.Source.Clear();
    }

    private async Task<bool> CountRefusedAsync(int atLeast)
    {
        var log = await File.ReadAllTextAsync(Path.Combine(Database.Server.Directory, "log"));
        return log.Split($"database \"{_name}\" is not currently accepting connections").Length > atLeast;
    }

    private Task<long> RenewalAsync() => LeaseAsync<long>("renewal");

    private async Task<DateTime> LowWaterMarkAsync()
    {
        await NextRenewalAsync();
        return await LeaseAsync<DateTime>("low_water_mark");
    }

    private Task<T> LeaseAsync<T>(string column) => Database.LeaseAsync<T>(_stages.Epoch.Number, column);

    private Task<int> OpenEpochAsync() =>
        Database.ScalarAsync<int>("SELECT coalesce(max(epoch), 0) FROM leases WHERE closed_at IS NULL");

    private Task<bool> IsClosedAsync(int epoch) => Database.LeaseAsync<bool>(epoch, "closed_at IS NOT NULL");
}

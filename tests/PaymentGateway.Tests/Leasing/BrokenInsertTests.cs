
namespace PaymentGateway.Tests.Leasing;

/// <summary>What becomes of payments whose INSERT broke and came through all the same, however late.</summary>
public sealed class BrokenInsertTests : OwnDatabase, IDisposable
{
    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private readonly IntakeOptions _options = TestSettings.Read().Intake;
    private readonly UnsettledPayments _unsettled = new(TimeProvider.System);
    private readonly AcceptanceClock _acceptances = new(TimeProvider.System);
    private readonly StoredBacklog _backlog = new(TimeProvider.System);
    private BrokenInserts _broken = null!;
    private PaymentQueue _queue = null!;
    private BacklogSweep? _sweep;
    private int _epoch;
    private long _renewals;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();

        _epoch = await Database.OpenEpochAsync();
        var lease = new Lease(TimeProvider.System, new LeasingOptions(Minute, Minute));
        lease.Confirm(_epoch, TimeProvider.System.GetTimestamp());
        _broken = new BrokenInserts(_backlog, Database.Leases);
        _queue = new PaymentQueue(_options);
        _sweep = new BacklogSweep(
            _backlog, Database.Payments, _queue, _unsettled, lease, _options, TimeProvider.System,
            NullLogger<BacklogSweep>.Instance);
        await _sweep.StartAsync(CancellationToken.None);
    }

    public override async Task DisposeAsync()
    {
        if (_sweep is not null)
            await _sweep.StopAsync(CancellationToken.None);
        await base.DisposeAsync();
    }

    public void Dispose() => _sweep?.Dispose();

    [PostgresFact]
    public async Task An_INSERT_that_still_runs_is_waited_for_however_long_and_its_payments_are_loaded_once()
    {
        var batch = _acceptances.Begin(3);
        var (insert, id) = await BeginAsync(batch.At(1));
        await using var stalled = insert;
        _backlog.Add(batch, isUncertain: true);

        for (var renewal = 0; renewal < 200; renewal++)
            await TurnAsync();
        Assert.Equal(batch.From, _backlog.Oldest());
        Assert.Null(_backlog.Next());
        await stalled.ExecuteAsync("COMMIT");
        await TurnAsync();

        await Eventually.HoldsAsync(() => _backlog.Oldest() is null, "the one query is over");
        Assert.Equal(id, Taken());
        Assert.Equal(1, _unsettled.Count);
    }

    [PostgresFact]
    public async Task An_INSERT_that_has_ended_is_resolved_at_the_next_renewal_whether_it_stored_or_not()
    {
        var (stored, lost) = (_acceptances.Begin(1), _acceptances.Begin(1));
        var ids = await StoreAsync(stored.From, 1);
        _backlog.Add(stored, isUncertain: true);
        _backlog.Add(lost, isUncertain: true);

        await TurnAsync();

        await Eventually.HoldsAsync(() => _backlog.Oldest() is null, "the one query is over");
        Assert.Equal(ids[0], Taken());
    }

    // Its bytes may wait in the socket of a server process that stalled, or that only begins to read.
    [PostgresTheory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task An_INSERT_that_begins_after_it_was_abandoned_stores_nothing_and_a_newer_one_does(int count)
    {
        var batch = _acceptances.Begin(count);
        _backlog.Add(batch, isUncertain: true);
        await TurnAsync();
        await Eventually.HoldsAsync(() => _backlog.Oldest() is null, "the one query is over");
        await TurnAsync(); // Nothing is uncertain any more, and it is refused for good.

        Assert.Empty(await StoreAsync(batch.From, count));
        Assert.Equal(count, (await StoreAsync(_acceptances.Begin(count).From, count)).Length);
        Assert.Equal(0, _queue.Count);
    }

    [PostgresFact]
    public async Task An_INSERT_that_breaks_while_another_is_waited_for_is_resolved_on_its_own()
    {
        var (first, second) = (_acceptances.Begin(1), _acceptances.Begin(1));
        var (firstInsert, firstId) = await BeginAsync(first.From);
        await using var one = firstInsert;
        _backlog.Add(first, isUncertain: true);
        await TurnAsync();
        var (secondInsert, secondId) = await BeginAsync(second.From);
        await using var other = secondInsert;
        _backlog.Add(second, isUncertain: true);
        await TurnAsync();

        await one.ExecuteAsync("COMMIT");
        await TurnAsync();

        await Eventually.HoldsAsync(() => _backlog.Oldest() > first.To, "the first was searched for");
        Assert.Equal(firstId, Taken());
        await TurnAsync();
        Assert.True(_backlog.Oldest() > first.To);
        await other.ExecuteAsync("COMMIT");
        await TurnAsync();
        await Eventually.HoldsAsync(() => _backlog.Oldest() is null, "the second was searched for");
        Assert.Equal(secondId, Taken());
    }

    // What the whole question rests on: a statement takes its snapshot after its lock on the table.
    [PostgresTheory]
    [InlineData(1, false)]
    [InlineData(3, false)]
    [InlineData(1, true)]
    [InlineData(3, true)]
    public async Task An_INSERT_that_waits_for_its_table_sees_what_was_committed_meanwhile(int count, bool prepared)
    {
        for (var use = 0; prepared && use < 8; use++)
            await StoreAsync(_acceptances.Begin(count).From, count);
        var batch = _acceptances.Begin(count);
        await using var held = await Database.HoldAsync("LOCK TABLE payments IN SHARE MODE");
        var storing = StoreAsync(batch.From, count);
        await Eventually.HoldsAsync(
            async () => (await Database.Leases.WritersAsync()).Count == 1, "who waits for the lock is counted");

        await Database.Leases.CloseAsync(_epoch);
        await held.ExecuteAsync("COMMIT");

        Assert.Empty(await storing);
        Assert.Empty(await Database.Leases.WritersAsync());
    }

    private async Task TurnAsync()
    {
        var until = _backlog.UncertainUntil();
        var renewal = await Database.Leases.RenewAsync(
            Batches.Renewal(_epoch, ++_renewals) with { RefusedUntil = until ?? DateTime.UnixEpoch });
        Assert.True(renewal.Renewed);
        await _broken.CheckAsync(_epoch, until);
    }

    private Guid Taken()
    {
        Assert.True(_queue.TryTake(out var payment));
        Assert.False(_queue.TryTake(out _));
        return payment.Id;
    }

    private async Task<Guid[]> StoreAsync(DateTime acceptedAt, int count)
    {
        var ids = Batches.SortedIds(count);
        var added = await Database.Payments.StoreAsync(Batches.ToStore(ids, _epoch, acceptedAt));
        Assert.Equal(added, (await Database.Payments.FindAsync(ids)).Count);
        return added == 0 ? [] : ids;
    }

    /// <summary>One that a server process has begun and that its client has given up.</summary>
    private async Task<(NpgsqlConnection Insert, Guid Id)> BeginAsync(DateTime acceptedAt)
    {
        var id = Guid.NewGuid();
        return (await Database.HoldAsync(
            "INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch) "
            + FormattableString.Invariant($"VALUES ('{id}', 1990, '{acceptedAt:O}', {_epoch})")), id);
    }
}

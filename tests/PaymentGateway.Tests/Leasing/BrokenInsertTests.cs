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

    private async Task<Guid[]> StoreAsync(DateTime acceptedAt, int count)
    {
        var ids = Batches.SortedIds(count);
        var added = (await Database.Payments.StoreAsync(Batches.ToStore(ids, _epoch, acceptedAt))).Length;
        Assert.Equal(added, (await Database.Payments.FindAsync(ids)).Count);
        return added == 0 ? [] : ids;
    }
}

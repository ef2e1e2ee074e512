using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Leasing;

/// <summary>An answer of the database from before a purge that is read after this instance has noticed it.</summary>
public sealed class PurgedWhileReadTests : OwnDatabase
{
    private readonly IntakeOptions _options = TestSettings.Read().Intake;
    private readonly UnsettledPayments _unsettled = new(TimeProvider.System);
    private readonly StoredBacklog _backlog = new(TimeProvider.System);
    private readonly AcceptanceClock _acceptances = new(TimeProvider.System);
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("relay");
    private readonly TaskCompletionSource _release = new();
    private Relay _relay = null!;
    private SharedConnections _shared = null!;
    private BatchConnections _batches = null!;
    private PaymentStore _relayed = null!;
    private PaymentQueue _queue = null!;
    private Lease _lease = null!;
    private LedgerWatch _watch = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();

        _relay = Relay.ToPostgres(_directory.FullName, () => Database.Server.Directory);
        var through = $"{Database.ConnectionString};Host={_directory.FullName}";
        _shared = LedgerSetup.Shared(LedgerSetup.DataSource(through), TimeProvider.System);
        _batches = LedgerSetup.Connections(through, 1);
        _relayed = new PaymentStore(_shared, _batches);
        _queue = new PaymentQueue(_options);
        _lease = new Lease(TimeProvider.System, TestSettings.Read().Leasing);
        _lease.Confirm(await Database.OpenEpochAsync(), TimeProvider.System.GetTimestamp());
        _watch = new LedgerWatch(
            Database.LedgerState, Database.Payments, _lease, _unsettled, NullLogger<LedgerWatch>.Instance);
        await CheckAsync();
    }

    public override async Task DisposeAsync()
    {
        await _shared.DisposeAsync();
        await _batches.DisposeAsync();
        await _relay.DisposeAsync();

        _directory.Delete(recursive: true);

        await base.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_page_of_the_backlog_read_before_a_purge_is_dropped()
    {
        var times = _acceptances.Begin(3);
        await Database.StoreAsync(_lease.Epoch, 3, times.From);
        using var sweep = new BacklogSweep(
            _backlog, _relayed, _queue, _unsettled, _lease, _options, TimeProvider.System,
            NullLogger<BacklogSweep>.Instance);
        // Its connection is made before its answers are held back.
        Assert.Empty(await _relayed.FindAsync([Guid.NewGuid()]));

        _relay.Set(new RelayFault(HoldAnswersUntil: _release.Task));
        await sweep.StartAsync(CancellationToken.None);
        _backlog.Add(times);
        await Eventually.HoldsAsync(() => _relay.Held > 0, "an answer is held back");
        await PurgeAsync();
        _release.SetResult();

        await Eventually.HoldsAsync(() => !_backlog.HasOverflow, "the backlog is read");
        Assert.Equal((0, 0), (_queue.Count, _unsettled.Count));
        await sweep.StopAsync(CancellationToken.None);
    }

    [PostgresFact]
    public async Task A_batch_accepted_during_a_purge_is_read_again_from_the_table()
    {
        using var metrics = new GatewayMetrics(TestSettings.Read());
        var writer = new IntakeWriter(
            _relayed, _lease, _acceptances, _backlog, _queue, _unsettled, metrics, TimeProvider.System,
            NullLogger<IntakeWriter>.Instance);
        await writer.StoreAsync([new PendingAcceptance(new Payment(Guid.NewGuid(), 1990))]);
        Assert.Equal((1, 1), (_queue.Count, _unsettled.Count));

        _relay.Set(new RelayFault(HoldAnswersUntil: _release.Task));
        var stored = new PendingAcceptance(new Payment(Guid.NewGuid(), 1990));
        var storing = writer.StoreAsync([stored]);
        await Eventually.HoldsAsync(() => _relay.Held > 0, "an answer is held back");
        await PurgeAsync();
        _release.SetResult();
        await storing;

        Assert.Equal(AcceptResult.Accepted, await stored.Task);
        Assert.Equal((1, 1), (_queue.Count, _unsettled.Count));
        Assert.True(Assert.Single(_unsettled.Snapshot()).Purged);
        Assert.True(_backlog.HasOverflow);
    }

    [PostgresFact]
    public async Task Payments_lost_in_a_crash_are_not_stored_again_after_a_purge()
    {
        var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, _lease.Epoch);
        _unsettled.Add(payment);
        await Database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
        await Database.LedgerState.MarkResetAsync();

        await PurgeAsync();

        Assert.Equal(0, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
        Assert.True(payment.Purged);
    }

    private async Task PurgeAsync()
    {
        await Database.LedgerState.PurgeAsync();
        await CheckAsync();
    }

    private async Task CheckAsync() => await _watch.CheckAsync(await Database.LedgerState.StateAsync());
}

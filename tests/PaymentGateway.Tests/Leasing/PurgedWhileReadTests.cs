using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Leasing;

/// <summary>An answer of the database from before a purge that is read after this instance has noticed it.</summary>
public sealed class PurgedWhileReadTests : OwnDatabase
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("relay");
    private readonly TaskCompletionSource _release = new();
    private Relay _relay = null!;
    private Stages _stages = null!;
    private LedgerWatch _watch = null!;

    private StoredBacklog Backlog => _stages.Part<StoredBacklog>();

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();

        _relay = Relay.ToPostgres(_directory.FullName, () => Database.Server.Directory);
        _stages = Stages.Build(
            $"{Database.ConnectionString};Host={_directory.FullName}", TimeProvider.System, urls: null);
        _stages.HoldLease(await Database.OpenEpochAsync());
        // Past the relay, which holds answers back.
        _watch = new LedgerWatch(
            Database.LedgerState, Database.Payments, _stages.Lease, _stages.Open, NullLogger<LedgerWatch>.Instance);
        await CheckAsync();
    }

    public override async Task DisposeAsync()
    {
        await _stages.DisposeAsync();
        await _relay.DisposeAsync();
        _directory.Delete(recursive: true);
        await base.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_page_of_the_backlog_read_before_a_purge_is_dropped()
    {
        var times = _stages.Part<AcceptanceClock>().Begin(3);
        await Database.StoreAsync(_stages.Lease.Epoch, 3, times.From);
        // Its connection is made before its answers are held back.
        Assert.Empty(await _stages.Part<PaymentStore>().FindAsync([Guid.NewGuid()]));

        _relay.Set(new RelayFault(HoldAnswersUntil: _release.Task));
        await _stages.StartAsync<BacklogSweep>();
        Backlog.Add(times);
        await Eventually.HoldsAsync(() => _relay.Held > 0, "an answer is held back");
        await PurgeAsync();
        _release.SetResult();

        await Eventually.HoldsAsync(() => !Backlog.HasOverflow, "the backlog is read");
        Assert.Equal((0, 0), (_stages.Queue.Count, _stages.Open.Count));
    }

    [PostgresFact]
    public async Task A_batch_accepted_during_a_purge_is_read_again_from_the_table()
    {
        var writer = _stages.Part<IntakeWriter>();
        await writer.StoreAsync([new PendingAcceptance(new Payment(Guid.NewGuid(), 1990))]);
        Assert.Equal((1, 1), (_stages.Queue.Count, _stages.Open.Count));

        _relay.Set(new RelayFault(HoldAnswersUntil: _release.Task));
        var stored = new PendingAcceptance(new Payment(Guid.NewGuid(), 1990));
        var storing = writer.StoreAsync([stored]);
        await Eventually.HoldsAsync(() => _relay.Held > 0, "an answer is held back");
        await PurgeAsync();
        _release.SetResult();
        await storing;

        Assert.Equal(AcceptResult.Accepted, await stored.Task);
        Assert.Equal((1, 1), (_stages.Queue.Count, _stages.Open.Count));
        Assert.True(Assert.Single(_stages.Open.Snapshot()).Purged);
        Assert.True(Backlog.HasOverflow);
    }

    [PostgresFact]
    public async Task Payments_lost_in_a_crash_are_not_stored_again_after_a_purge()
    {
        var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, _stages.Lease.Epoch);
        _stages.Open.Add(payment);
        await Database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
        await Database.LedgerState.MarkResetAsync();

        await PurgeAsync();

        Assert.Equal(0, await Database.ScalarAsync<long>("SELECT count(*) FROM payments"));
        Assert.True(payment.Purged);
    }

    private async Task PurgeAsync()
    {
        await Database.PurgeAsync();
        await CheckAsync();
    }

    private async Task CheckAsync() => await _watch.CheckAsync(await Database.LedgerState.StateAsync());
}

using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Accepting;
using PaymentGateway.Configuring;
using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>An answer of the database from before a purge that is read after this instance has noticed it.</summary>
public sealed class PurgedWhileReadTests : IAsyncLifetime
{
    private readonly TestDatabase database = new();
    private readonly IntakeOptions options = TestSettings.Read().Intake;
    private readonly UnsettledPayments unsettled = new();
    private readonly StoredBacklog backlog = new(TimeProvider.System);
    private readonly AcceptanceClock acceptances = new(TimeProvider.System);
    private AnswerRelay relay = null!;
    private SharedConnections shared = null!;
    private BatchConnections batches = null!;
    private PaymentStore relayed = null!;
    private PaymentQueue queue = null!;
    private Lease lease = null!;
    private LedgerWatch watch = null!;

    public async Task InitializeAsync()
    {
        await database.InitializeAsync();
        if (!PostgresServer.IsInstalled)
            return;

        relay = AnswerRelay.To(database.Server);
        var through = $"{database.ConnectionString};Host={relay.Host}";
        shared = LedgerSetup.Shared(LedgerSetup.DataSource(through), TimeProvider.System);
        batches = LedgerSetup.Connections(through, 1);
        relayed = new PaymentStore(shared, batches);
        queue = new PaymentQueue(options);
        lease = new Lease(TimeProvider.System, TestSettings.Read().Leasing);
        lease.Confirm(await database.OpenEpochAsync(), TimeProvider.System.GetTimestamp());
        watch = new LedgerWatch(
            database.LedgerState, database.Payments, lease, unsettled, NullLogger<LedgerWatch>.Instance);
        await CheckAsync();
    }

    public async Task DisposeAsync()
    {
        if (PostgresServer.IsInstalled)
        {
            await shared.DisposeAsync();
            await batches.DisposeAsync();
            await relay.DisposeAsync();
        }

        await database.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_page_of_the_backlog_read_before_a_purge_is_dropped()
    {
        var times = acceptances.Begin(3);
        await database.Payments.StoreAsync(Batches.ToStore(Batches.SortedIds(3), lease.Epoch, times.From));
        using var sweep = new BacklogSweep(
            backlog, relayed, queue, unsettled, lease, options, TimeProvider.System, NullLogger<BacklogSweep>.Instance);
        // Its connection is made before its answers are held back.
        Assert.Empty(await relayed.FindAsync([Guid.NewGuid()]));

        relay.Hold();
        await sweep.StartAsync(CancellationToken.None);
        backlog.AddOverflow(times);
        await relay.Held;
        await PurgeAsync();
        relay.Release();

        await Eventually.HoldsAsync(() => !backlog.HasOverflow, "the backlog is read");
        Assert.Equal((0, 0), (queue.Count, unsettled.Count));
        await sweep.StopAsync(CancellationToken.None);
    }

    [PostgresFact]
    public async Task A_batch_accepted_during_a_purge_is_read_again_from_the_table()
    {
        var writer = new IntakeWriter(
            relayed, lease, acceptances, backlog, queue, unsettled, options, TimeProvider.System,
            NullLogger<IntakeWriter>.Instance);
        await writer.StoreAsync([new PendingAcceptance(Guid.NewGuid(), 1990, 0)]);
        Assert.Equal((1, 1), (queue.Count, unsettled.Count));

        relay.Hold();
        var stored = new PendingAcceptance(Guid.NewGuid(), 1990, 0);
        var storing = writer.StoreAsync([stored]);
        await relay.Held;
        await PurgeAsync();
        relay.Release();
        await storing;

        Assert.Equal(AcceptResult.Accepted, await stored.Result);
        Assert.Equal((1, 1), (queue.Count, unsettled.Count));
        Assert.True(Assert.Single(unsettled.Snapshot()).Purged);
        Assert.True(backlog.HasOverflow);
    }

    [PostgresFact]
    public async Task Payments_lost_in_a_crash_are_not_stored_again_after_a_purge()
    {
        var payment = new Payment(Guid.NewGuid(), 1990, Batches.Noon, lease.Epoch);
        unsettled.Add(payment);
        await database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
        await database.LedgerState.MarkResetAsync();

        await PurgeAsync();

        Assert.Equal(0, await database.ScalarAsync<long>("SELECT count(*) FROM payments"));
        Assert.True(payment.Purged);
    }

    private async Task PurgeAsync()
    {
        await database.LedgerState.PurgeAsync();
        await CheckAsync();
    }

    private async Task CheckAsync() => await watch.CheckAsync(await database.LedgerState.StateAsync());
}

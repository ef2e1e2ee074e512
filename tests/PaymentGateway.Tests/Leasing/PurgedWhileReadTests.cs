using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Leasing;

/// <summary>A purge ends the epoch, and what was accepted after it belongs to the next one.</summary>
public sealed class PurgedWhileReadTests : OwnDatabase
{
    private Stages _stages = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _stages = Stages.Build(Database.ConnectionString, TimeProvider.System, urls: null);
        await _stages.StartAsync<LeaseKeeper>();
    }

    public override async Task DisposeAsync()
    {
        await _stages.DisposeAsync();
        await base.DisposeAsync();
    }

    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]   // As a crash of the server leaves its unlogged tables.
    public async Task What_was_accepted_before_leaves_the_memory_and_what_came_after_is_taken_over(bool isCrash)
    {
        var before = _stages.Epoch;
        await AcceptAsync();
        Assert.Equal((1, 1), (_stages.Queue.Count, _stages.Open.Count));

        await (isCrash
            ? Database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact")
            : Database.PurgeAsync());
        var after = await AcceptAsync();
        await _stages.Lease.NextCheckAsync(CancellationToken.None);

        await Eventually.HoldsAsync(
            () => _stages.Epoch != before && _stages.Open.Snapshot() is [var one] && one.Id == after.Id,
            "the other one is in memory");
        await Eventually.HoldsAsync(() => _stages.Queue.Count > 0, "it waits for a charge");
        Assert.All(_stages.Open.Snapshot(), one => Assert.False(one.MayBeStored));
        await Eventually.HoldsAsync(() => _stages.Lease.Former.Count == 0, "nothing of the former epoch is left");
    }

    private async Task<Payment> AcceptAsync()
    {
        var acceptance = new PendingAcceptance(new Payment(Guid.NewGuid(), 1990));
        await _stages.Part<IntakeWriter>().StoreAsync([acceptance]);
        Assert.Equal(AcceptResult.Accepted, await acceptance.Task);
        return acceptance.Payment;
    }
}

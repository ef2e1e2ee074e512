using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Owning;
using PaymentGateway.Queueing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Owning;

/// <summary>What becomes of payments whose INSERT broke and came through all the same, however late.</summary>
public sealed class UncertainRangeTests : IAsyncLifetime, IDisposable
{
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);
    private static readonly OwningOptions Leases = new(TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1));

    private readonly TestDatabase database = new();
    private readonly WatchedClock clock = new();
    private readonly IntakeOptions options = TestSettings.Read().Intake;
    private readonly OpenPayments open = new();
    private AcceptanceClock acceptances = null!;
    private StoredBacklog backlog = null!;
    private PaymentQueue queue = null!;
    private BacklogSweep? sweep;
    private int epoch;

    public async Task InitializeAsync()
    {
        await database.InitializeAsync();
        if (!PostgresServer.IsInstalled)
            return;

        epoch = await database.OpenEpochAsync();
        var lease = new Lease(clock, Leases);
        lease.Confirm(epoch, clock.GetTimestamp());
        (acceptances, backlog) = (new AcceptanceClock(clock), new StoredBacklog(clock));
        queue = new PaymentQueue(options);
        sweep = new BacklogSweep(
            backlog, database.Payments, queue, open, lease, options, clock, NullLogger<BacklogSweep>.Instance);
        await sweep.StartAsync(CancellationToken.None);
    }

    public async Task DisposeAsync()
    {
        if (sweep is not null)
            await sweep.StopAsync(CancellationToken.None);
        await database.DisposeAsync();
    }

    public void Dispose() => sweep?.Dispose();

    [PostgresFact]
    public async Task A_stalled_backend_that_stores_after_the_first_looks_loses_nothing_and_nothing_is_loaded_twice()
    {
        var batch = acceptances.Begin(3);
        backlog.AddUncertain(batch);
        var early = await StoreAsync(batch.At(1));
        await PassAsync(TimeSpan.FromSeconds(7));
        Assert.Equal(early, Taken());

        await PassAsync(TimeSpan.FromSeconds(40)); // Two more looks.
        Assert.Equal(batch.From, backlog.Oldest());
        var late = await StoreAsync(batch.At(0));
        await PassAsync(TimeSpan.FromSeconds(31));

        Assert.Equal(late, Taken());
        await PassAsync(TimeSpan.FromSeconds(60));
        Assert.False(queue.TryTake(out _));
        Assert.Equal(2, open.Count);
        Assert.Null(backlog.Oldest());
    }

    [PostgresFact]
    public async Task The_bound_of_the_lease_waits_for_the_last_look()
    {
        var batch = acceptances.Begin(3);
        backlog.AddUncertain(batch);
        acceptances.End(batch);

        await PassAsync(TimeSpan.FromSeconds(119));
        Assert.Equal(batch.From, backlog.Oldest());
        await PassAsync(TimeSpan.FromSeconds(2));

        Assert.Null(backlog.Oldest());
    }

    private Guid Taken()
    {
        Assert.True(queue.TryTake(out var payment));
        Assert.False(queue.TryTake(out _));
        return payment.Id;
    }

    private async Task<Guid> StoreAsync(DateTime acceptedAt)
    {
        var ids = Batches.SortedIds(1);
        Assert.Equal(1, await database.Payments.StoreAsync(Batches.ToStore(ids, epoch, acceptedAt)));
        return ids[0];
    }

    // Turn by turn: each ends when the sweep waits for the clock again.
    private async Task PassAsync(TimeSpan time)
    {
        for (var passed = TimeSpan.Zero; passed < time; passed += Turn)
        {
            await Eventually.HoldsAsync(() => clock.ArmedTimers > 0 || backlog.IsEmpty, "the sweep waits");
            clock.Advance(Turn);
        }

        await Eventually.HoldsAsync(() => clock.ArmedTimers > 0 || backlog.IsEmpty, "the sweep waits");
    }
}

using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Support;

/// <summary>The intake with all that it works with, and nothing that takes payments out of the queue.</summary>
internal sealed class IntakeFixture : IDisposable
{
    private readonly GatewayMetrics _metrics = new(TestSettings.Read());

    private IntakeFixture(TestDatabase database, TimeProvider clock, (string Key, string? Value)[] settings)
    {
        // A frozen clock would never end the lingering.
        var options = TestSettings.Read([("Gateway:Intake:Linger", "0s"), .. settings]);
        Lease = new Lease(clock, options.Leasing);
        Backlog = new StoredBacklog(clock);
        Queue = new PaymentQueue(options.Intake);
        var writer = new IntakeWriter(
            database.Payments, Lease, new AcceptanceClock(clock), Backlog, Queue, Unsettled, _metrics, clock,
            NullLogger<IntakeWriter>.Instance);
        Intake = new Intake(writer, options.Intake, clock);
    }

    public Intake Intake { get; }

    public Lease Lease { get; }

    public StoredBacklog Backlog { get; }

    public PaymentQueue Queue { get; }

    public UnsettledPayments Unsettled { get; } = new(TimeProvider.System);

    public static async Task<IntakeFixture> StartAsync(
        TestDatabase database, TimeProvider clock, params (string Key, string? Value)[] settings)
    {
        var intake = new IntakeFixture(database, clock, settings);
        intake.Lease.Confirm(await database.OpenEpochAsync(), clock.GetTimestamp());
        return intake;
    }

    public void Dispose() => _metrics.Dispose();

    public Task<AcceptResult> AcceptAsync(Guid id, long cents = 1990) => Intake.AcceptAsync(id, cents);

    public List<Guid> TakeAll()
    {
        var ids = new List<Guid>();
        while (Queue.TryTake(out var payment))
            ids.Add(payment.Id);
        return ids;
    }
}

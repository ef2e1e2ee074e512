using PaymentGateway.Operator.Reconciliation;

namespace PaymentGateway.Tests.Operator.Reconciliation;

/// <summary>A reconciliation on a clock of its own: what comes too late, and what nobody has foreseen.</summary>
public sealed class ReconciliationClockTests : PlantedGateway
{
    private static readonly ReconciliationQuery Everything = new(null, null, Repair: true);

    private readonly FakeTimeProvider _clock = new(DateTimeOffset.UtcNow);
    private readonly LogLines<ReconciliationRun> _log = new();

    [PostgresFact]
    public async Task It_ends_after_ten_minutes_and_repairs_nothing()
    {
        await PlantAsync(20, planted => planted.Unrecorded(Known.Default));
        var progress = new ReconciliationProgress();

        var running = RunAsync(New(_clock), progress);
        await Eventually.HoldsAsync(() => progress.Phase == "confirming", "it waits for its second look");
        _clock.Advance(TimeSpan.FromMinutes(10));
        var report = await running;

        Assert.StartsWith("Not within 10 minutes", report.Stopped, StringComparison.Ordinal);
        Assert.Equal(20, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task A_fault_of_the_gateway_itself_is_in_the_report_and_in_the_log()
    {
        var report = await RunAsync(New(new BrokenClock()));

        Assert.Equal("stopped", report.Outcome);
        Assert.StartsWith("It failed", report.Stopped, StringComparison.Ordinal);
        Assert.Contains("A reconciliation failed", _log.Lines);
    }

    [PostgresFact]
    public void A_window_ends_before_what_may_be_in_flight()
    {
        var options = Gateway.Part<GatewayOptions>();
        var fallback = options.Processors.All[1] with
        {
            CallTimeout = TimeSpan.FromSeconds(20),
            InDoubtHorizon = TimeSpan.FromSeconds(30),
        };

        var reconciliation = New(new FakeTimeProvider(Start), options with
        {
            Processors = new ProcessorsOptions([options.Processors.All[0], fallback], 100),
        });

        // 20 + 30 + 3 s of lease.
        Assert.Equal(Start.AddSeconds(-53), reconciliation.ClosedUntil);
    }

    [PostgresFact]
    public async Task An_instance_without_a_lease_records_nothing()
    {
        await PlantAsync(20, planted => planted.Unrecorded(Known.Default));
        var unheld = new Lease(
            Gateway.Part<GatewayOptions>().Leasing, Batches.Intake, new DoubtNotes(_clock), _clock);

        var report = await RunAsync(New(TimeProvider.System, lease: unheld));

        var left = Assert.Single(report.Differences);
        Assert.Equal((RepairResult.Left, "This instance has no lease now."), (left.Repair, left.Why));
        Assert.Equal(20, await Rig.CountSettledAsync());
    }

    private async Task<ReconciliationReport> RunAsync(ReconciliationRun run, ReconciliationProgress? progress = null) =>
        await run.RunAsync(
            (await ReconciliationStore.OpenAsync(Gateway.Part<GatewayOptions>()))!, Everything,
            progress ?? new ReconciliationProgress(), CancellationToken.None);

    private ReconciliationRun New(TimeProvider clock, GatewayOptions? options = null, Lease? lease = null) => new(
        options ?? Gateway.Part<GatewayOptions>(), lease ?? Gateway.Part<Lease>(), Gateway.Part<ProcessorLanes>(),
        Gateway.Part<GatewayMetrics>(), clock, _log);

    private sealed class BrokenClock : TimeProvider
    {
        public override DateTimeOffset GetUtcNow() => throw new InvalidOperationException("no clock");
    }
}

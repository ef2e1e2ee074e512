using PaymentGateway.Processors;
using PaymentGateway.Routing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Settling;

/// <summary>How often a processor is asked for its health, whatever it says.</summary>
public sealed class HealthMonitorTests : IAsyncLifetime
{
    private const string NotDue = "now() + interval '1 hour'";
    private const string Due = "now() - interval '5.2 seconds'";

    private readonly TestDatabase database = new();
    private readonly WatchedClock clock = new();
    private SimulatedProcessor processor = null!;
    private Stages stages = null!;

    private ProcessorHealth Health => stages.Part<ProcessorLanes>().Default.Health;

    public async Task InitializeAsync()
    {
        await database.InitializeAsync();
        processor = await SimulatedProcessor.StartAsync();
        if (PostgresServer.IsInstalled)
            stages = Stages.Build(
                database.ConnectionString, clock, urls: null,
                ("Gateway:Processors:Default:BaseUrl", processor.BaseAddress.AbsoluteUri));
    }

    public async Task DisposeAsync()
    {
        if (stages is not null)
            await stages.DisposeAsync();
        await processor.DisposeAsync();
        await database.DisposeAsync();
    }

    // The 429 of a health call is that of one that came too early.
    [PostgresTheory]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    [InlineData(null)]
    public async Task One_call_is_made_for_each_interval_whatever_the_answer_is(string? fault)
    {
        if (fault is not null)
            await processor.SetFaultsAsync(new { health = fault });
        await stages.StartAsync<HealthMonitor>();
        for (var call = 1; call <= 3; call++)
        {
            await HasAskedAsync(call);
            await PolledAtAsync(NotDue);
            for (var look = 1; look <= 3; look++)
                await LookAsync(milliseconds: (10 * call) + look);
            Assert.Equal(call, (await processor.CallsAsync()).HealthCalls);
            await PolledAtAsync(Due);
        }
    }

    private Task HasAskedAsync(int times) => Eventually.HoldsAsync(
        async () =>
        {
            clock.Advance(TimeSpan.FromMilliseconds(100));
            return (await processor.CallsAsync()).HealthCalls >= times;
        },
        $"health was asked for {times} times");

    private Task PolledAtAsync(string time) =>
        database.ExecuteAsync($"UPDATE processor_health SET polled_at = {time}");

    /// <summary>The monitor has read what another instance found, and has looked before for what is due.</summary>
    private Task LookAsync(int milliseconds) => Eventually.HoldsAsync(
        async () =>
        {
            // Again and again, as an answer of the processor's own may come between.
            await database.ExecuteAsync(
                $"UPDATE processor_health SET failing = false, min_response_ms = {milliseconds}, observed_at = now()");
            clock.Advance(TimeSpan.FromMilliseconds(100));
            return Health.Read().ExpectedLatency == TimeSpan.FromMilliseconds(milliseconds);
        },
        "the monitor has looked");
}

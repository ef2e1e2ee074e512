using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Settling;

/// <summary>How often a processor is asked for its health, whatever it says.</summary>
public sealed class HealthMonitorTests : IAsyncLifetime
{
    private const string NotDue = "now() + interval '5 seconds'";
    private const string Due = "now() - interval '5.2 seconds'";

    private readonly TestDatabase _database = new();
    private readonly WatchedClock _clock = new();
    private SimulatedProcessor _processor = null!;
    private Stages _stages = null!;

    private ProcessorHealth Health => _stages.Part<ProcessorLanes>().Default.Health;

    public async Task InitializeAsync()
    {
        await _database.InitializeAsync();
        _processor = await SimulatedProcessor.StartAsync();
        if (PostgresServer.IsInstalled)
            _stages = Stages.Build(
                _database.ConnectionString, _clock, urls: null,
                ("Gateway:Processors:Default:BaseUrl", _processor.BaseAddress.AbsoluteUri));
    }

    public async Task DisposeAsync()
    {
        if (_stages is not null)
            await _stages.DisposeAsync();
        await _processor.DisposeAsync();
        await _database.DisposeAsync();
    }

    // The 429 of a health call is that of one that came too early.
    [PostgresTheory]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    [InlineData(null)]
    public async Task One_call_is_made_for_each_interval_whatever_the_answer_is(string? fault)
    {
        if (fault is not null)
            await _processor.SetFaultsAsync(new { health = fault });
        await _stages.StartAsync<HealthMonitor>();
        for (var call = 1; call <= 3; call++)
        {
            await HasAskedAsync(call);
            await PolledAtAsync(NotDue);
            for (var look = 1; look <= 3; look++)
                await CheckAsync(milliseconds: (10 * call) + look);
            Assert.Equal(call, (await _processor.CallsAsync()).HealthCalls);
            await PolledAtAsync(Due);
        }
    }

    private Task HasAskedAsync(int times) => Eventually.HoldsAsync(
        async () =>
        {
            _clock.Advance(TimeSpan.FromMilliseconds(100));
            return (await _processor.CallsAsync()).HealthCalls >= times;
        },
        $"health was asked for {times} times");

    private Task PolledAtAsync(string time) =>
        _database.ExecuteAsync($"UPDATE processor_health SET polled_at = {time}");

    /// <summary>The monitor has read what another instance found, and has looked before for what is due.</summary>
    private Task CheckAsync(int milliseconds) => Eventually.HoldsAsync(
        async () =>
        {
            // Again and again, as an answer of the processor's own may come between.
            await _database.ExecuteAsync(
                $"UPDATE processor_health SET failing = false, min_response_ms = {milliseconds}, observed_at = now()");
            _clock.Advance(TimeSpan.FromMilliseconds(100));
            return Health.Read().ExpectedLatency == TimeSpan.FromMilliseconds(milliseconds);
        },
        "the monitor has looked");
}

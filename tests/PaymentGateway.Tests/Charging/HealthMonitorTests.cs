namespace PaymentGateway.Tests.Charging;

public sealed class HealthMonitorTests : OwnRig
{
    private const string NotDue = "now() + interval '5 seconds'";
    private const string Due = "now() - interval '5.2 seconds'";

    private readonly WatchedClock _clock = new();

    // A processor answers 429 to a health call that comes too early.
    [PostgresTheory]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    [InlineData(null)]
    public async Task One_call_is_made_for_each_interval_whatever_the_answer_is(string? fault)
    {
        if (fault is not null)
            await Rig.Default.SetFaultsAsync(new { health = fault });
        await using var stages = Stages.Build(
            Rig.Database.ConnectionString, _clock, urls: null,
            ("Gateway:Processors:Default:BaseUrl", Rig.Default.BaseAddress.AbsoluteUri));
        await stages.StartAsync<HealthMonitor>();
        for (var call = 1; call <= 3; call++)
        {
            await HasAskedAsync(call);
            await PolledAtAsync(NotDue);
            for (var look = 1; look <= 3; look++)
                await CheckAsync(stages.Default.Health, milliseconds: (10 * call) + look);
            Assert.Equal(call, (await Rig.Default.CallsAsync()).HealthCalls);
            await PolledAtAsync(Due);
        }
    }

    private Task HasAskedAsync(int times) => _clock.AdvancesUntilAsync(
        async () => (await Rig.Default.CallsAsync()).HealthCalls >= times, TimeSpan.FromMilliseconds(100),
        $"health was asked for {times} times");

    private Task PolledAtAsync(string time) =>
        Rig.Database.ExecuteAsync($"UPDATE processor_health SET polled_at = {time}");

    /// <summary>The monitor has read what another instance found, and has looked before for what is due.</summary>
    private Task CheckAsync(ProcessorHealth health, int milliseconds) => Eventually.HoldsAsync(
        async () =>
        {
            // Again and again, as an answer of the processor's own may come between.
            await Rig.Database.ExecuteAsync(
                $"UPDATE processor_health SET failing = false, min_response_ms = {milliseconds}, observed_at = now()");
            _clock.Advance(TimeSpan.FromMilliseconds(100));
            return health.Read().ExpectedLatency == TimeSpan.FromMilliseconds(milliseconds);
        },
        "the monitor has looked");
}

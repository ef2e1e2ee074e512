namespace PaymentGateway.Tests.Summarising;

/// <summary>A summary has what is known when it is asked for, though nobody has written it yet.</summary>
public sealed class UnwrittenSummaryTests : IAsyncLifetime
{
    private static readonly TimeSpan Linger = TimeSpan.FromSeconds(1);

    private readonly TestDatabase _database = new();
    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(_database);

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task A_summary_has_every_outcome_that_its_instance_knew_when_asked()
    {
        var gateway = await _rig.StartGatewayAsync($"Recording:Linger={Linger.TotalSeconds}s");
        var outcomes = gateway.Part<UnwrittenOutcomes>();

        for (var paid = 1; paid <= 5; paid++)
        {
            await gateway.PayAsync();
            // It is written already where this comes late.
            await Eventually.HoldsAsync(
                async () => outcomes.Count > 0 || await _rig.CountSettledAsync() == paid, "the processor's answer");

            Assert.Equal(paid, await CountAsync(gateway));
        }
    }

    [PostgresFact]
    public async Task A_late_answer_to_another_instance_is_recorded_without_lingering()
    {
        var asked = await _rig.StartGatewayAsync();
        var charging = await _rig.StartGatewayAsync($"Recording:Linger={Linger.TotalSeconds}s");
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        await charging.PayAsync();
        await _rig.Default.HoldsAsync(1);
        var late = DateTimeOffset.UtcNow + TimeSpan.FromSeconds(1);
        await Eventually.HoldsAsync(() => DateTimeOffset.UtcNow >= late, "the charge is late");

        await _rig.Default.ClearFaultsAsync();

        await InTime.EndsAsync(Linger / 2, SeenAsync(), "the other instance's late outcome");

        async Task<bool> SeenAsync()
        {
            await Eventually.HoldsAsync(async () => await CountAsync(asked) == 1, "a settlement");
            return true;
        }
    }

    private static async Task<int> CountAsync(GatewayHost gateway)
    {
        using var summary = JsonDocument.Parse(await gateway.GetAsync("payments-summary"));
        return summary.RootElement.GetProperty("default").GetProperty("totalRequests").GetInt32();
    }
}

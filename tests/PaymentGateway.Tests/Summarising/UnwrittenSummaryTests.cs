namespace PaymentGateway.Tests.Summarising;

public sealed class UnwrittenSummaryTests : OwnRig
{
    private static readonly TimeSpan Linger = TimeSpan.FromSeconds(1);

    [PostgresFact]
    public async Task A_summary_has_every_outcome_that_its_instance_knew_when_asked()
    {
        var gateway = await Rig.StartGatewayAsync($"Recording:Linger={Linger.TotalSeconds}s");
        var outcomes = gateway.Part<UnwrittenOutcomes>();

        for (var paid = 1; paid <= 5; paid++)
        {
            await gateway.PayAsync();
            // It is written already where this comes late.
            await Eventually.HoldsAsync(
                async () => outcomes.Count > 0 || await Rig.CountSettledAsync() == paid, "the processor's answer");

            Assert.Equal(paid, await CountAsync(gateway));
        }
    }

    [PostgresFact]
    public async Task A_late_answer_to_another_instance_is_recorded_without_lingering()
    {
        var asked = await Rig.StartGatewayAsync();
        var charging = await Rig.StartGatewayAsync($"Recording:Linger={Linger.TotalSeconds}s");
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        await charging.PayAsync();
        await Rig.Default.HoldsAsync(1);
        var late = DateTimeOffset.UtcNow + TimeSpan.FromSeconds(1);
        await Eventually.HoldsAsync(() => DateTimeOffset.UtcNow >= late, "the charge is late");

        await Rig.Default.ClearFaultsAsync();

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

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Every way in which a processor can fail to say what it did, through the real thing.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorFaultTests(ProcessorFaultTests.FallingBackSystem fallingBack)
    : OnRunningSystem(fallingBack), IClassFixture<ProcessorFaultTests.FallingBackSystem>
{
    [GatewaySystemTheory]
    [InlineData("afterInsert", "reset")]
    [InlineData("afterInsert", "errorBody")]
    [InlineData("afterInsert", "hang")]
    [InlineData("beforeInsert", "reset")]
    [InlineData("trickle", true)]
    [InlineData("garbage", true)]
    [InlineData("tooMany", true)]
    // A proxy before a processor may answer these; only the processor itself answers 400.
    [InlineData("status", 401)]
    [InlineData("status", 403)]
    [InlineData("status", 404)]
    [InlineData("status", 408)]
    public async Task A_charge_without_a_sound_answer_is_settled_once_where_it_was_sent(string fault, object value)
    {
        await System.Default.SetFaultsAsync(new Dictionary<string, object> { [fault] = value, ["times"] = 1 });
        await LoadDriver.PostAsync(System.Client, Ledger);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Assert.Equal(0, await System.Default.FaultTimesLeftAsync());
        Assert.Single(await System.Default.PaymentsAsync());
        Assert.Empty(await System.Fallback.PaymentsAsync());
    }

    [GatewaySystemFact]
    public async Task A_call_that_hangs_before_the_insert_and_is_stored_late_is_charged_once()
    {
        await System.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        await LoadDriver.PostAsync(System.Client, Ledger);
        await Eventually.HoldsAsync(
            async () => await System.Database.CountAsync("settlements") == 1, "the repeated call has settled it");
        await System.Default.ClearFaultsAsync();

        await LedgerCheck.AgreesAsync(System, Ledger);
        Assert.Equal(1, (await System.Default.CallsAsync()).Duplicates422);
    }

    [GatewaySystemFact]
    public async Task A_payment_in_doubt_stays_at_default_though_fallback_is_healthy_and_the_fallback_delay_is_over()
    {
        await using var system = await GatewaySystem.UpAsync(("Gateway__Routing__FallbackAfter", "0s"));
        await system.Default.SetFaultsAsync(new { afterInsert = "reset" });
        await LoadDriver.RunAtRateAsync(system.Client, Ledger, perSecond: 100, TimeSpan.FromSeconds(3));
        await LedgerCheck.AgreesAsync(system, Ledger);

        var audit = await LedgerAudit.TakeAsync(system);
        Assert.True(audit.Default.TotalRequests > 0);
        Assert.True(audit.Fallback.TotalRequests > 0);
    }

    /// <summary>Gives a call up after 1 s, so that a hang is in doubt soon, and doubt ends soon.</summary>
    public sealed class FallingBackSystem : RunningSystem
    {
        protected override (string Name, string Value)[] Settings =>
            [("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Settling__InDoubtHorizon", "3s")];
    }
}

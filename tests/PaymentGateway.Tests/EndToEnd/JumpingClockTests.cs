namespace PaymentGateway.Tests.EndToEnd;

/// <summary>PostgreSQL's clock jumps by half a minute, forward and back: nobody is charged twice.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class JumpingClockTests
{
    private const int Jump = 30;

    private readonly LoadLedger _ledger = new();

    [FakedTimeFact]
    public async Task A_forward_clock_jump_does_not_end_the_in_doubt_horizon_of_a_dead_instances_payments()
    {
        using var clock = new FakedTime();
        await using var system = await GatewaySystem.UpAsync(
            ("PG_BIN", clock.Binaries), ("Gateway__Routing__FallbackAfter", "0s"),
            ("Gateway__Settling__InDoubtHorizon", "20s"));
        await FallbackIsUsedAsync(system);
        var already = _ledger.Acknowledged;
        await system.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 5 });
        for (var i = 0; i < 5; i++)
            await LoadDriver.PostAsync(system.Api1, _ledger);
        await system.Default.HoldsAsync(5);
        await system.Default.SetFailureAsync(true);
        var (atDefault, atFallback) = await LookupsAsync(system);

        await system.KillAsync(GatewaySystem.First);
        clock.Jump(Jump);

        await Eventually.HoldsAsync(
            async () => await system.Database.CountAsync("settlements") > already
                || (await LookupsAsync(system) is var (one, other) && one >= atDefault + 15
                    && other >= atFallback + 15),
            "each was asked for three times at both");
        // Whatever is settled now is charged by the other processor too, as soon as the first one goes on.
        Assert.Equal(already, await system.Database.CountAsync("settlements"));
        await system.Default.ClearFaultsAsync();
        await system.Default.SetFailureAsync(false);
        await LedgerCheck.AgreesAsync(system, _ledger);
    }

    [FakedTimeFact]
    public async Task Clock_jumps_both_ways_under_load_and_kills_charge_nobody_twice_and_lose_nothing()
    {
        using var clock = new FakedTime();
        await using var system = await GatewaySystem.UpAsync(
            ("PG_BIN", clock.Binaries), ("Gateway__Routing__FallbackAfter", "1s"),
            ("Gateway__Settling__CallTimeout", "6s"), ("Gateway__Settling__InDoubtHorizon", "6s"));
        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(100));
        var retry = new LoadRetry(Times: 40, TimeSpan.FromMilliseconds(250));

        var jumps = JumpAndKillAsync(system, clock);
        await LoadDriver.RunAtRateAsync(system.Client, _ledger, perSecond: 100, until: jumps, retry);
        await jumps;
        await LedgerCheck.AgreesAsync(system, _ledger, within: TimeSpan.FromSeconds(60));

        Assert.Equal(_ledger.Count, _ledger.Acknowledged);
        var handedOver = await system.Database.CountAsync($"payments WHERE handover >= {PaymentStates.Sql.InDoubt}");
        var epochs = await system.Database.CountAsync("leases WHERE closed_at IS NOT NULL AND epoch <> 0");
        Assert.True(handedOver > 0, "nothing was adopted");
        // Two died, and a jump ended a living one: the one back from -30 s, when both had been steady for a lease. At
        // the others one had begun a moment before, or was killed before the renewal that would have closed its peer.
        Assert.True(epochs >= 3, $"{epochs} epochs were closed");
    }

    private static async Task JumpAndKillAsync(GatewaySystem system, FakedTime clock)
    {
        foreach (var offset in new[] { Jump, 0, -Jump, 0, Jump })
        {
            await system.Default.SetFailureAsync(offset == 0);
            await Task.Delay(TimeSpan.FromSeconds(1.3));
            clock.Jump(offset);
            await Task.Delay(TimeSpan.FromSeconds(0.6));
            if (offset > 0)
            {
                await system.Database.CarriesLoadAsync(GatewaySystem.First);
                await system.KillAsync(GatewaySystem.First);
            }

            await Task.Delay(TimeSpan.FromSeconds(0.6));
            if (offset > 0)
                await system.StartAsync(GatewaySystem.First);
        }

        await system.Database.CarriesLoadAsync(GatewaySystem.First);
    }

    // So that the first instance has used it, and its payments have to be looked up at both. Then default is back.
    private async Task FallbackIsUsedAsync(GatewaySystem system)
    {
        await system.Default.SetFailureAsync(true);
        for (var i = 0; i < 10; i++)
            await LoadDriver.PostAsync(system.Api1, _ledger);
        await LedgerCheck.AgreesAsync(system, _ledger);
        Assert.NotEmpty(await system.Fallback.PaymentsAsync());
        await system.Default.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () =>
            {
                await LoadDriver.PostAsync(system.Api1, _ledger);
                await LedgerCheck.AgreesAsync(system, _ledger);
                return (await system.Default.PaymentsAsync()).Count > 0;
            },
            "default is used again");
    }

    private static async Task<(long AtDefault, long AtFallback)> LookupsAsync(GatewaySystem system) =>
        ((await system.Default.CallsAsync()).Lookups, (await system.Fallback.CallsAsync()).Lookups);
}

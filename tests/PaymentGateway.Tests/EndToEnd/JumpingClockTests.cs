namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class JumpingClockTests
{
    private const int Jump = 30;

    private readonly LoadLedger _ledger = new();

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
        var handedOver = await system.Database.CountAsync("payments WHERE may_be_at > 0");
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
}

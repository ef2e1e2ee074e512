namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A crash of PostgreSQL: the durable profile loses nothing, the other one says what it lost.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class CrashedPostgresTests
{
    [GatewaySystemFact]
    public async Task A_durable_ledger_loses_nothing_acknowledged_over_kill_9_under_load()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("PROFILE", "durable"), ("Gateway__Settling__CallTimeout", "3s"),
            ("Gateway__Settling__InDoubtHorizon", "3s"));
        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(100));
        var ledger = new LoadLedger();
        var retry = new LoadRetry(Times: 40, TimeSpan.FromMilliseconds(250));

        var load = LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 100, TimeSpan.FromSeconds(5), retry);
        for (var i = 0; i < 2; i++)
        {
            await Task.Delay(TimeSpan.FromSeconds(1.2));
            await system.Database.CrashAsync();
            await system.StopAsync("postgres");
            await system.StartAsync("postgres");
        }

        await load;
        Assert.Equal(ledger.Count, ledger.Acknowledged);
        await LedgerCheck.AgreesAsync(system, ledger);

        var repeated = ledger.Entries.Count(entry => entry.Attempts > 1);
        Assert.True(repeated > 0, "no client noticed the crash, so the test has shown nothing");
    }

    [GatewaySystemFact]
    public async Task An_unlogged_ledger_is_empty_after_kill_9_and_payments_in_memory_are_stored_again()
    {
        await using var system = await GatewaySystem.UpAsync();
        var lost = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Client, lost, clients: 10, payments: 100, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, lost);
        await system.Default.SetFailureAsync(true);
        var ledger = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 10, payments: 100, TimeSpan.Zero);

        await system.Database.CrashAsync();
        await system.StopAsync("postgres");
        await system.StartAsync("postgres");
        foreach (var instance in system.RunningInstances())
            await Eventually.HoldsAsync(() => SaysAsync(instance, "reset"), "the instance says what happened");
        await system.Default.PurgeAsync();
        await system.Default.SetFailureAsync(false);
        await LedgerCheck.AgreesAsync(system, ledger);

        using var purged = await system.Client.PostAsync("purge-payments", null);
        purged.EnsureSuccessStatusCode();
        foreach (var instance in system.RunningInstances())
            await Eventually.HoldsAsync(() => SaysAsync(instance, "kept"), "a new ledger has begun");
    }

    private static async Task<bool> SaysAsync(HttpClient instance, string state)
    {
        using var answer = await instance.GetAsync("readyz");
        return answer.IsSuccessStatusCode
            && (await answer.Content.ReadAsStringAsync()).Contains($"\"ledger\":\"{state}\"", StringComparison.Ordinal);
    }
}

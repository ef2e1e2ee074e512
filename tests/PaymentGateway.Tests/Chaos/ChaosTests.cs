using PaymentGateway.Tests.Support;
using PaymentGateway.Tests.WholeWay;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// Everything that single tests break one by one, in a seeded order and under load; then every payment is compared.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class ChaosTests(ITestOutputHelper output)
{
    [GatewaySystemFact]
    public async Task Whatever_dies_hangs_or_lies_nothing_acknowledged_is_lost_and_nobody_is_charged_twice()
    {
        var settings = ChaosSettings.Read();
        var schedule = ChaosSchedule.Plan(settings.Seed, settings.Durable, settings.Length);
        await using var system = await GatewaySystem.UpAsync(
            ("PROFILE", settings.Durable ? "durable" : "unlogged"),
            ("Gateway__Settling__InDoubtHorizon", Seconds(ChaosSchedule.Horizon)),
            ("Gateway__Settling__CallTimeout", Seconds(ChaosSchedule.CallTimeout)),
            ("Gateway__Routing__Patience", Seconds(ChaosSchedule.Patience)));
        using var run = new ChaosRun(system, schedule);
        var load = new ChaosLoad(system);

        var brokeOff = await Record.ExceptionAsync(async () =>
        {
            var steps = run.ToTheEndAsync();
            await load.RunWhileAsync(steps);
            await steps;
        });
        await run.HealAllAsync();
        var verdict = (await ChaosVerdict.FindAsync(system, load.Ledger)).Judge(
            new ChaosAdoptions(system).After(run.Kills, run.DatabaseAway), run.DeadCalls);
        if (brokeOff is not null)
            verdict = verdict with { Problems = [.. verdict.Problems, $"the rig itself broke off: {brokeOff}"] };
        var ledger = await ChaosLedger.WriteAsync(settings, schedule, system, run, load, verdict);

        output.WriteLine(ledger);
        await KeepAsync(settings, system, ledger, withLogs: verdict.Problems.Count > 0);
        Assert.True(verdict.Problems.Count == 0, ledger);
    }

    private static string Seconds(TimeSpan time) => $"{(int)time.TotalSeconds}s";

    private static async Task KeepAsync(ChaosSettings settings, GatewaySystem system, string ledger, bool withLogs)
    {
        if (settings.LedgerFile is not { } file)
            return;
        await File.WriteAllTextAsync(file, ledger);
        if (!withLogs)
            return;
        foreach (var part in new[] { GatewaySystem.First, GatewaySystem.Second, "postgres", "nginx" })
            await File.WriteAllTextAsync($"{file}.{part}.log", system.ReadLog(part));
    }
}

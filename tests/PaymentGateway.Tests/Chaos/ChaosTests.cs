using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Chaos;

/// <summary>Beside nothing else, as <see cref="Alone"/>, and without the system that those share.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class ChaosAlone
{
    public const string Name = "Chaos";
}

/// <summary>All that single tests break, in a seeded order and under load; then every payment is compared.</summary>
[Collection(ChaosAlone.Name), Trait(Alone.Lane, LongRunning.Name)]
public sealed class ChaosTests(ITestOutputHelper output)
{
    [GatewaySystemFact]
    public async Task Whatever_dies_hangs_or_lies_nothing_acknowledged_is_lost_and_nobody_is_charged_twice()
    {
        var settings = ChaosSettings.Read();
        var schedule = ChaosSchedule.Plan(
            settings.Seed, settings.Durable, settings.Length, settings.Without, settings.Processors);
        await using var webhooks = new ChaosWebhooks(await WebhookReceiver.StartAsync(), settings.Seed);
        await using var system = await GatewaySystem.UpWithRelaysAsync(
        [
            .. webhooks.Settings,
            ("PROFILE", settings.Durable ? "durable" : "unlogged"), ("PROCESSORS", $"{settings.Processors}"),
            ("Gateway__Settling__InDoubtHorizon", Seconds(ChaosSchedule.Horizon)),
            ("Gateway__Settling__CallTimeout", Seconds(ChaosSchedule.CallTimeout)),
            ("Gateway__Routing__FallbackAfter", Seconds(ChaosSchedule.FallbackAfter)),
        ]);
        await ChaosWebhooks.HasBegunAsync(system);
        using var run = new ChaosRun(system, schedule);
        var load = new ChaosLoad(system);
        var audits = new ChaosAudits(system, settings.Seed);
        var histories = new ChaosHistories(system, load.Ledger, settings.Seed);
        var problems = new List<string>();
        var ledger = new ChaosLedger();

        await TryAsync(problems, async () =>
        {
            var steps = run.ToTheEndAsync();
            await Task.WhenAll(
                steps, load.RunWhileAsync(steps), audits.RunWhileAsync(steps), histories.RunWhileAsync(steps),
                webhooks.RunWhileAsync(steps));
        });
        await run.HealAllAsync();
        await load.ComeAgainAsync();
        var verdict = (await ChaosVerdict.FindAsync(system, load.Ledger)).Judge(run.DeadCalls);
        await TryAsync(problems, audits.AfterDrainAsync);
        var caused = await run.CausedAsync(settings.Length, load.Ledger);
        problems.AddRange(
            [.. verdict.Problems, .. audits.Problems, .. histories.Problems, .. ChaosFloors.Missed(caused)]);
        await ledger.AddRunAsync(settings, schedule, system, run, load, caused, verdict);
        ledger.AddAudits(audits, histories);
        await TryAsync(problems, () => webhooks.CompareAsync(system));
        if (settings.Purges)
        {
            var purges = new ChaosPurges(system, settings.Seed);
            await TryAsync(problems, async () =>
            {
                var purging = purges.PlayAsync();
                await Task.WhenAll(purging, webhooks.RunWhileAsync(purging));
                await webhooks.CompareAsync(system);
            });
            problems.AddRange(purges.Problems);
            ledger.AddPurges(purges);
        }

        problems.AddRange(webhooks.Problems);
        ledger.AddWebhooks(webhooks);
        ledger.Close(problems);
        output.WriteLine($"{ledger}");
        await KeepAsync(settings, system, $"{ledger}", withLogs: problems.Count > 0);
        Assert.True(problems.Count == 0, $"{ledger}");
    }

    private static string Seconds(TimeSpan time) => $"{(int)time.TotalSeconds}s";

    private static async Task TryAsync(List<string> problems, Func<Task> playAsync)
    {
        if (await Record.ExceptionAsync(playAsync) is { } broken)
            problems.Add($"the rig itself broke off: {broken}");
    }

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

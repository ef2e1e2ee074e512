namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The stage table of contract.md at 100 payments/s, with the official audit and a storm of them.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, LongRunning.Name)]
public sealed class StageTableTests(RunningSystem running, ITestOutputHelper output) : OnRunningSystem(running)
{
    private const int PerSecond = 100;

    private static readonly TimeSpan Duration = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan AuditInterval = TimeSpan.FromSeconds(10);

    // One per cent of the payments.
    private const int FallbackMax = 60;

    // The official auditor sleeps after each answer and drifts by its answers' times: into the stages, not before them.
    private static readonly TimeSpan AuditDrift = TimeSpan.FromMilliseconds(50);

    // The official users sleep for 1 s after their last payment before the final summary is asked for.
    private static readonly TimeSpan LastSleep = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan HangGuard = TimeSpan.FromSeconds(30);

    private static readonly Stage[] Stages =
    [
        new(1, 0, false, 0, false),
        new(10, 100, false, 0, false),
        new(20, 100, true, 0, false),
        new(30, 2_000, true, 1_000, true),
        new(40, 20, false, 20, false),
        new(50, 0, false, 5_000, false),
    ];

    [GatewaySystemFact]
    public async Task The_stage_table_ends_without_lag_inconsistency_or_double_charge()
    {
        var storm = new AuditStorm(System);
        var load = LoadDriver.RunAtRateAsync(System.Client, Ledger, PerSecond, Duration);
        var storming = storm.RunAsync(Duration);
        var audits = await PlayStagesAsync(System);
        await load;
        var lags = await WatchLagAsync(System, Ledger);
        await storming;
        output.WriteLine(storm.Report);
        await LedgerCheck.AgreesAsync(System, Ledger);
        var audit = await LedgerAudit.TakeAsync(System);

        output.WriteLine($"lag at once {lags.AtOnce}, settled after {lags.SettledAfter.TotalMilliseconds:0} ms");
        output.WriteLine($"{audit.Processors}");
        output.WriteLine($"p99 {Ledger.P99Ms} ms");
        Ledger.NoClientSawAnError();
        Assert.Equal(PerSecond * (int)Duration.TotalSeconds, Ledger.Acknowledged);
        Assert.All(audits, taken => Assert.True(taken.Agrees, $"{taken}"));
        Assert.All(storm.Differences, found => Assert.False(found.Persists || found.Invented, $"{found}"));
        // A payment that was accepted as default failed reaches the fallback delay as fallback fails, 10 s later.
        Assert.InRange(audit.Processors.Fallback.TotalRequests, 0, FallbackMax);
    }

    private async Task<List<LedgerAudit>> PlayStagesAsync(GatewaySystem system)
    {
        var clock = Stopwatch.StartNew();
        var audits = new List<LedgerAudit>();
        foreach (var stage in Stages)
        {
            await Task.Delay(Rest(clock, TimeSpan.FromSeconds(stage.Second)));
            await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(stage.DefaultDelayMs));
            await system.Default.SetFailureAsync(stage.DefaultFailing);
            await system.Fallback.SetDelayAsync(TimeSpan.FromMilliseconds(stage.FallbackDelayMs));
            await system.Fallback.SetFailureAsync(stage.FallbackFailing);
            if (stage.Second >= AuditInterval.TotalSeconds)
                audits.Add(await AuditAsync(system, clock, stage.Second));
        }

        audits.Add(await AuditAsync(system, clock, (int)Duration.TotalSeconds));
        return audits;
    }

    private async Task<LedgerAudit> AuditAsync(GatewaySystem system, Stopwatch clock, int second)
    {
        var due = TimeSpan.FromSeconds(second);
        await Task.Delay(Rest(clock, due + AuditDrift * (due / AuditInterval)));
        var (from, to) = LedgerAudit.OfficialWindow();
        var asked = Stopwatch.StartNew();
        var audit = await LedgerAudit.TakeAsync(system, from, to);
        output.WriteLine($"audit of second {second}: {audit.Gateway}, "
            + $"inconsistencies {audit.Inconsistencies}, {asked.Elapsed.TotalMilliseconds:0} ms");
        return audit;
    }

    // Lag as the contract counts it: acknowledged less settled in the summary of the last 70 s. It never is negative.
    private static async Task<(long AtOnce, TimeSpan SettledAfter)> WatchLagAsync(
        GatewaySystem system, LoadLedger ledger)
    {
        var clock = Stopwatch.StartNew();
        var atOnce = await LagAsync(system, ledger);
        var left = await InTime.EndsAsync(LastSleep, WatchAsync(), $"the end of lag {atOnce}");
        Assert.True(left == 0 && atOnce >= 0, $"lag {atOnce}, then {left}");
        return (atOnce, clock.Elapsed);

        async Task<long> WatchAsync()
        {
            var lag = atOnce;
            while (lag > 0 && clock.Elapsed < HangGuard)
                lag = await LagAsync(system, ledger);
            return lag;
        }
    }

    private static async Task<long> LagAsync(GatewaySystem system, LoadLedger ledger)
    {
        var now = DateTimeOffset.UtcNow;
        var summary = await GatewaySummary.AskAsync(system.Client, now.AddSeconds(-70), now.AddSeconds(1));
        return ledger.Acknowledged - summary.Default.TotalRequests - summary.Fallback.TotalRequests;
    }

    private static TimeSpan Rest(Stopwatch clock, TimeSpan due) =>
        due > clock.Elapsed ? due - clock.Elapsed : TimeSpan.Zero;

    private sealed record Stage(
        int Second, int DefaultDelayMs, bool DefaultFailing, int FallbackDelayMs, bool FallbackFailing);
}

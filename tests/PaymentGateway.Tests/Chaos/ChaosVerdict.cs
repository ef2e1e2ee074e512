using System.Diagnostics;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

/// <summary>What is wrong after a run, if anything, and how many payments were lost or charged twice.</summary>
public sealed record ChaosVerdict(TimeSpan Drained, int Lost, int ChargedTwice, IReadOnlyList<string> Problems)
{
    // The slowest doubt: the horizon, the longest back-off, and the processors' limiters in between.
    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(60);

    private static readonly TimeSpan LookAgain = TimeSpan.FromMilliseconds(200);

    // Operations promise an adoption 3 s + 1 s after a death at the latest; a busy machine may be a second late.
    private static readonly TimeSpan AdoptionLimit = TimeSpan.FromSeconds(5);

    // Two instances try a dead processor twice a second each; what is in doubt there is sent again now and then.
    private const double DeadCallsPerSecondMax = 20;

    /// <summary>Waits, within a limit, until everything is settled; then compares every single payment.</summary>
    public static async Task<ChaosVerdict> FindAsync(GatewaySystem system, LoadLedger ledger)
    {
        var waited = Stopwatch.StartNew();
        while (!await IsDrainedAsync(system, ledger) && waited.Elapsed < DrainLimit)
            await Task.Delay(LookAgain);
        var drained = waited.Elapsed;

        var problems = await BooksCheck.CompareAsync(system, ledger);
        if (await system.Database.CountUnsettledAsync() is > 0 and var unsettled)
            problems.Add($"{unsettled} payments are unsettled after {DrainLimit.TotalSeconds} s");
        var books = await system.Database.SettlementsAsync();
        var byDefault = await system.Default.PaymentsAsync();
        var byFallback = await system.Fallback.PaymentsAsync();
        var lost = ledger.Entries.Count(entry => entry.Outcome == LoadOutcome.Acknowledged
            && (!books.ContainsKey(entry.Id)
                || !byDefault.ContainsKey(entry.Id) && !byFallback.ContainsKey(entry.Id)));
        var twice = byDefault.Keys.Count(byFallback.ContainsKey);
        return new ChaosVerdict(drained, lost, twice, problems);
    }

    /// <summary>Adds what took too long or was asked too often.</summary>
    public ChaosVerdict Judge(
        IEnumerable<(ChaosKill Kill, TimeSpan Took, bool DatabaseWasSteady)> adoptions,
        IEnumerable<ChaosDeadCalls> deadCalls) => this with
    {
        Problems =
        [
            .. Problems,
            .. adoptions.Where(one => one.DatabaseWasSteady && one.Took > AdoptionLimit)
                .Select(one => $"{one.Kill.Part}, killed {one.Kill.At:O}: adopted after {one.Took.TotalSeconds:0.0} s"),
            .. deadCalls.Where(one => one.PerSecond > DeadCallsPerSecondMax)
                .Select(one => $"{one.PerSecond:0.0} charges per second at {one.Processor} while it failed"),
        ],
    };

    private static async Task<bool> IsDrainedAsync(GatewaySystem system, LoadLedger ledger) =>
        await system.IsIdleAsync() && await system.Database.CountAsync("settlements") >= ledger.Acknowledged;
}

using System.Globalization;
using System.Text;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

/// <summary>The figures of a run, for people.</summary>
public static class ChaosLedger
{
    public static async Task<string> WriteAsync(
        ChaosSettings settings, ChaosSchedule schedule, GatewaySystem system, ChaosRun run, ChaosLoad load,
        ChaosVerdict verdict)
    {
        var adoptions = new ChaosAdoptions(system);
        var after = adoptions.After(run.Kills, run.DatabaseAway).ToList();
        var (byDefault, byFallback) = (await system.Default.CallsAsync(), await system.Fallback.CallsAsync());
        var audit = await BooksAudit.TakeAsync(system);
        var entries = load.Ledger.Entries.ToList();
        var text = new StringBuilder();
        Line("seed", $"{settings.Seed}, {(settings.Durable ? "durable" : "unlogged")}, "
            + $"{settings.Length.TotalSeconds} s");
        Line("payments", $"{entries.Count}, {load.Twins} of them posted twice at once, "
            + $"{entries.Count(entry => entry.Attempts > 1)} repeated by their client");
        Line("acknowledged", $"{load.Ledger.Acknowledged}; refused {load.Ledger.CountOf(LoadOutcome.Refused)}, "
            + $"given up {entries.Count - load.Ledger.Acknowledged - load.Ledger.CountOf(LoadOutcome.Refused)}");
        Line("settled", $"{audit.Default.TotalRequests} at default, {audit.Fallback.TotalRequests} at fallback, "
            + $"drained in {verdict.Drained.TotalSeconds:0.0} s");
        Line("instances", $"{Count(ChaosKind.Kill)} kills, "
            + $"{Count(ChaosKind.Pause) + Count(ChaosKind.PauseInOutage)} pauses, "
            + $"{Count(ChaosKind.Terminate)} restarts (the slowest stop {run.LongestStop.TotalSeconds:0.0} s), "
            + $"{Count(ChaosKind.Reload)} nginx reloads");
        Line("database", $"{Count(ChaosKind.DatabaseRestart)} restarts, {Count(ChaosKind.DatabaseCrash)} crashes");
        Line("processors", $"{Count(ChaosKind.Outage) + Count(ChaosKind.PauseInOutage)} outages, "
            + $"{Count(ChaosKind.Slow)} delays, "
            + $"{schedule.Processors.Count(step => step.Kind > ChaosKind.Slow)} faults");
        Line("adopted", $"{adoptions.FromEpochs} in doubt, {adoptions.FromStops} freed by a stop");
        Line("time to adopt", $"{Longest(after.Where(one => one.DatabaseWasSteady))} at most, "
            + $"{Longest(after.Where(one => !one.DatabaseWasSteady))} near an outage of the database "
            + $"({after.Count} of {run.Kills.Count} kills left something)");
        Line("doubts", $"{byDefault.Lookups} look-ups at default, {byFallback.Lookups} at fallback, "
            + $"{byDefault.Duplicates422 + byFallback.Duplicates422} charges answered 422");
        Line("parked", $"{await system.Database.CountAsync("payments WHERE owner = -1")}");
        Line("dead processor", string.Join(", ", run.DeadCalls.Select(
            one => string.Create(CultureInfo.InvariantCulture, $"{one.Processor} {one.PerSecond:0.0}/s"))));
        Line("lost", $"{verdict.Lost}");
        Line("double", $"{verdict.ChargedTwice}");
        Line("verdict", verdict.Problems.Count == 0 ? "the books agree" : "THE BOOKS DO NOT AGREE");
        text.AppendLine("as planned:").AppendLine($"{schedule}").AppendLine("as done:").AppendLine(run.Journal);
        foreach (var problem in verdict.Problems)
            text.AppendLine(problem);
        return text.ToString();

        void Line(string name, string figures) =>
            text.AppendLine(CultureInfo.InvariantCulture, $"{name,-15}{figures}");

        int Count(ChaosKind kind) => schedule.Parts.Concat(schedule.Processors).Count(step => step.Kind == kind);
    }

    private static string Longest(IEnumerable<(ChaosKill Kill, TimeSpan Took, bool DatabaseWasSteady)> adoptions)
    {
        var longest = adoptions.Select(one => one.Took).DefaultIfEmpty().Max();
        return longest == TimeSpan.Zero
            ? "none"
            : string.Create(CultureInfo.InvariantCulture, $"{longest.TotalSeconds:0.0} s");
    }
}

using System.Diagnostics;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// Compares every single payment of a load: what clients were told, what the gateway's books hold, and what both
/// processors have stored.
/// </summary>
public static class BooksCheck
{
    private const short Default = 1;
    private const int ShownMax = 10;

    private static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LookAgain = TimeSpan.FromMilliseconds(50);

    /// <summary>Waits until everything acknowledged is settled, and fails with every difference that is left.</summary>
    /// <returns>How long it took to drain.</returns>
    public static async Task<TimeSpan> AgreesAsync(GatewaySystem system, LoadLedger ledger, TimeSpan? within = null)
    {
        var waited = Stopwatch.StartNew();
        while (!await IsDrainedAsync(system, ledger) && waited.Elapsed < (within ?? DrainLimit))
            await Task.Delay(LookAgain);
        var took = waited.Elapsed;

        var differences = await CompareAsync(system, ledger);
        Assert.True(
            differences.Count == 0, $"After {took.TotalSeconds:0.0} s of draining:\n{string.Join('\n', differences)}");
        return took;
    }

    /// <summary>All differences in words, none when the books agree.</summary>
    public static async Task<List<string>> CompareAsync(GatewaySystem system, LoadLedger ledger)
    {
        var books = await system.Database.SettlementsAsync();
        var byDefault = await system.Default.PaymentsAsync();
        var byFallback = await system.Fallback.PaymentsAsync();

        var differences = new List<string>();
        Report(differences, "acknowledged, and not in the books", ledger.Entries
            .Where(entry => entry.Outcome == LoadOutcome.Acknowledged && !books.ContainsKey(entry.Id))
            .Select(entry => $"{entry}, {Stored(entry.Id)}"));
        Report(differences, "in the books, and not as it was sent", books
            .Where(row => !WasSent(ledger.Find(row.Key), row.Value))
            .Select(row => $"{row.Key} {row.Value}, sent {ledger.Find(row.Key)}"));
        Report(differences, "in the books, and not so at their processor", books
            .Where(row => !IsSame(row.Value, AtItsProcessor(row)))
            .Select(row => $"{row.Key} {row.Value}, {Stored(row.Key)}"));
        Report(differences, "charged, and not in the books", byDefault.Concat(byFallback)
            .Where(stored => !books.ContainsKey(stored.Key))
            .Select(stored => $"{stored.Value}, sent {ledger.Find(stored.Key)}"));
        Report(differences, "charged by both processors", byDefault.Keys
            .Where(byFallback.ContainsKey)
            .Select(id => $"{id}, {Stored(id)}"));
        await CompareSummariesAsync(system, differences);
        return differences;

        ProcessorPayment? AtItsProcessor(KeyValuePair<Guid, BooksEntry> row) =>
            (row.Value.Processor == Default ? byDefault : byFallback).GetValueOrDefault(row.Key);

        string Stored(Guid id) =>
            $"at default {byDefault.GetValueOrDefault(id)}, at fallback {byFallback.GetValueOrDefault(id)}";
    }

    private static async Task<bool> IsDrainedAsync(GatewaySystem system, LoadLedger ledger) =>
        await system.IsIdleAsync() && await system.Database.CountAsync("settlements") >= ledger.Acknowledged;

    private static async Task CompareSummariesAsync(GatewaySystem system, List<string> differences)
    {
        var byDefault = await system.Default.SummariseAsync();
        var byFallback = await system.Fallback.SummariseAsync();
        var expected = new BooksSummary(
            new BooksTotals(byDefault.TotalRequests, byDefault.TotalAmount),
            new BooksTotals(byFallback.TotalRequests, byFallback.TotalAmount));
        foreach (var instance in system.RunningInstances())
            if (await BooksSummary.AskAsync(instance) is var said && said != expected)
                differences.Add($"the summary says {said}, the processors {expected}");
    }

    private static bool WasSent(LoadEntry? sent, BooksEntry row) =>
        sent is not null && sent.Outcome != LoadOutcome.Refused && sent.Amount == row.Amount;

    private static bool IsSame(BooksEntry row, ProcessorPayment? stored) =>
        stored is not null && stored.Amount == row.Amount && stored.RequestedAt.UtcDateTime == row.RequestedAt;

    private static void Report(List<string> differences, string what, IEnumerable<string> found)
    {
        var all = found.ToList();
        if (all.Count > 0)
            differences.Add($"{all.Count} {what}:\n  {string.Join("\n  ", all.Take(ShownMax))}");
    }
}

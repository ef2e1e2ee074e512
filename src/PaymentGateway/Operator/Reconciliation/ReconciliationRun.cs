using PaymentGateway.Charging;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// Compares the ledger with the processors, names each difference, and repairs them on request
/// (docs/decisions/0027-reconciliation.md). One at a time over all instances. Any thread may begin one.
/// </summary>
/// <remarks>
/// <para>
/// Ledger and processors agree by themselves, as long as this program has no fault, no operator changes rows, and no
/// processor loses payments. A reconciliation is for the rest: it finds each payment on which they differ, tells why,
/// and makes the ledger follow the processors, because they have the money. It never charges.
/// </para>
/// <para>
/// A processor lists nothing. It answers two questions: the sum of a window, and one payment by its id. So the search
/// goes from sums to payments:
/// </para>
/// <code>
///   compare   sums of the whole window, ledger and processor                    BothSides
///   halve     windows that differ, down to a millisecond; windows that agree
///             down to a second, because two differences may cancel out          WindowSearch
///   name      look payments of a differing window up, at all processors         DifferenceFinder
///   confirm   the same difference once more, two seconds later                  here
///   repair    one statement for each, while nothing has changed since           DifferenceRepair
/// </code>
/// <para>
/// Each step asks again whether the ledger is still the same, because a purge in between would make every payment a
/// difference. Only closed windows are compared: a charge that is on its way differs for a moment, and is no fault.
/// </para>
/// <para>
/// <i>An example.</i> An operator restored default from a backup of a minute ago, so it lacks 40 payments that the
/// ledger has settled there. The sums differ; after some twelve halvings each of the 40 has a window of its own, and
/// its look-up at default says 404. Fallback does not have it either, so it is <i>absent</i>. A repair puts it back
/// among the unsettled payments, and it is charged again. Had default lost more than half of what the ledger says,
/// nothing would be put back: so looks a processor at a wrong address, or a replica that is far behind.
/// </para>
/// <para>
/// <i>What it relies on.</i> A 404 counts only while the processor's sums say the same as its look-ups. A payment is
/// put back only if no instance can have it in memory: its owner's epoch is closed, or the epoch's low-water mark has
/// passed it. Otherwise two owners could choose two processors.
/// </para>
/// </remarks>
internal sealed partial class ReconciliationRun(
    GatewayOptions options, Lease lease, ProcessorLanes lanes, GatewayMetrics metrics, TimeProvider clock,
    ILogger<ReconciliationRun> log)
{
    private const int DifferencesMax = 1_000;

    private const string LeftMeanwhile = "Payments of this window left the ledger meanwhile: choose a later from.";

    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);
    private static readonly TimeSpan RunWithin = TimeSpan.FromMinutes(10);

    // After this time the ledger has every outcome that was being written at the first comparison.
    private static readonly TimeSpan ConfirmAfter = TimeSpan.FromSeconds(2);

    /// <summary>
    /// UTC. A payment with an earlier requestedAt is final unless it is in doubt: its calls have ended, and a dead
    /// owner's payments are adopted.
    /// </summary>
    public DateTime ClosedUntil => TimeWindow.Floor(clock.GetUtcNow().UtcDateTime
        - TimeSpan.FromSeconds(options.Processors.All.Max(one => (one.CallTimeout + one.InDoubtHorizon).TotalSeconds))
        - options.Leasing.LeaseDuration);

    /// <summary>
    /// Reconciles, and releases the lock before the end, because a client with the report may start the next run. After
    /// a failure the report has its reason, and the differences that were confirmed before.
    /// </summary>
    public async Task<ReconciliationReport> RunAsync(
        ReconciliationStore ledger, ReconciliationQuery query, ReconciliationProgress progress,
        CancellationToken cancellation)
    {
        await using var locked = ledger;
        using var limit = new CancellationTokenSource(RunWithin, clock);
        using var over = CancellationTokenSource.CreateLinkedTokenSource(cancellation, limit.Token);
        var report = new ReconciliationReport(query.Repair);
        try
        {
            await FindAsync(ledger, query, report, progress, over.Token);
        }
        catch (Exception failed)
        {
            report.Stop = Reason(failed, cancellation.IsCancellationRequested);
            report.Truncated = true;
        }

        report.Calls = progress.Calls;
        Count(report);
        Log.Ended(log, report.Outcome, report.Differences.Count, report.Repaired);
        return report;
    }

    private StoppedException Reason(Exception failed, bool isCancelled)
    {
        switch (failed)
        {
            case StoppedException stopped:
                return stopped;
            case OperationCanceledException when isCancelled:
                return new StoppedException("The instance stops, or the client hung up.");
            case OperationCanceledException:
                return new StoppedException($"Not within {RunWithin.TotalMinutes:0} minutes: choose a smaller window.");
            case NotKeptException:
                return new StoppedException(LeftMeanwhile);
            case DbException or TimeoutException:
                return new StoppedException(
                    "PostgreSQL does not answer. Try again.", Problems.LedgerUnavailable, retryAfterSeconds: 1);
            default:
                Log.Failed(log, failed);
                return new StoppedException("It failed, and the instance's log says how.");
        }
    }

    private async Task FindAsync(
        ReconciliationStore ledger, ReconciliationQuery query, ReconciliationReport report,
        ReconciliationProgress progress, CancellationToken cancellation)
    {
        var state = await ledger.StateAsync();
        var to = query.To ?? ClosedUntil;
        var field = query.From is null ? "to" : "from";
        if ((query.From ?? query.To) < state.KeptFrom)
            throw new StoppedException(
                $"{field} may be {state.KeptFrom:yyyy-MM-dd'T'HH:mm:ss'Z'} at the earliest: older payments have left.",
                Problems.InvalidWindow, field);

        var from = query.From ?? state.ResetAt ?? await ledger.OldestAsync();
        // Retention keeps unsettled payments, so the oldest may precede KeptFrom. An hour keeps deletions away.
        if (query.From is null && from < state.KeptFrom + Hour)
            from = state.KeptFrom + Hour;
        // An empty ledger, or nothing old enough: there is nothing to compare.
        if (from is not { } begin || begin > to)
            return;

        var all = TimeWindow.Outward(begin, to);
        report.Window = all;
        using var sides = new BothSides(
            ledger, lanes.NewAdminClient, options.Processors, progress, clock, cancellation);
        foreach (var processor in sides.Processors)
            report.Compared[processor] = await sides.CompareAsync(processor, all);
        report.IsCompared = true;
        var found = new List<DifferingWindow>();
        foreach (var (processor, compared) in report.Compared)
            found.AddRange(await WindowSearch.FindAsync(
                processor, all, compared, DifferencesMax - found.Count,
                window => sides.CompareAsync(processor, window)));

        progress.Phase = "naming";
        var naming = new DifferenceFinder(ledger, sides);
        var named = found.Count > 0 ? await naming.NameAsync(found) : [];
        report.Truncated = found.Count >= DifferencesMax || naming.IsCutShort;
        progress.Phase = "confirming";
        if (named.Count > 0)
            await Task.Delay(ConfirmAfter, clock, cancellation);
        await CheckAsync(ledger, state, all);
        foreach (var difference in named)
            await ConfirmAsync(sides, difference, report);
        if (query.Repair)
        {
            progress.Phase = "repairing";
            var repair = new DifferenceRepair(ledger, sides, lanes, lease, state.Generation, report, log);
            await repair.RepairAllAsync(cancellation);
        }

        await CheckAsync(ledger, state, all);
    }

    private static async Task ConfirmAsync(BothSides sides, Difference difference, ReconciliationReport report)
    {
        if (difference.Window is { } differing)
        {
            var again = await sides.CompareAsync(differing.Processor, differing.Window);
            if (again.Agrees)
                return;

            // The window differs in another way now, which was not searched.
            report.Truncated |= again != differing.Compared;
            Add(difference);
        }
        else if (await sides.FindAsync(difference.Payment!.Row.CorrelationId) is { } again
            && again.Compare() is { } kind)
            Add(difference with { Kind = kind, Payment = again, HasChanged = kind != difference.Kind });

        void Add(Difference confirmed) =>
            report.Differences.Add(confirmed with { Repair = report.Repair ? RepairResult.Left : null });
    }

    private static async Task CheckAsync(ReconciliationStore ledger, LedgerState before, TimeWindow window)
    {
        var now = await ledger.StateAsync();
        if ((now.Generation, now.Resets, now.Intact) != (before.Generation, before.Resets, before.Intact))
            throw new StoppedException("The ledger was purged, or emptied by a crash, meanwhile.");
        if (now.KeptFrom > window.From)
            throw new StoppedException(LeftMeanwhile);
    }

    private void Count(ReconciliationReport report)
    {
        metrics.Reconciliations.Add(1, new KeyValuePair<string, object?>("outcome", report.Outcome));
        foreach (var difference in report.Differences)
            metrics.Differences.Add(
                1, DifferenceTags.Kind(Words.Of(difference.Kind)),
                DifferenceTags.Repair(Words.Of(difference.Repair ?? RepairResult.Left)));
    }

    private static partial class Log
    {
        [LoggerMessage(600, LogLevel.Information,
            "A reconciliation ended: {Outcome}, {Differences} differences, {Repaired} repaired")]
        public static partial void Ended(ILogger log, string outcome, int differences, int repaired);

        [LoggerMessage(602, LogLevel.Error, "A reconciliation failed")]
        public static partial void Failed(ILogger log, Exception failed);
    }
}

/// <summary>A window of requestedAt, both bounds inclusive, UTC; absent is as far as possible.</summary>
internal sealed record ReconciliationQuery(DateTime? From, DateTime? To, bool Repair)
{
    /// <returns>Null when a parameter is wrong, which is answered with 400.</returns>
    public static async Task<ReconciliationQuery?> ReadAsync(HttpContext context, DateTime closedUntil)
    {
        var reader = new QueryReader(context);
        var (from, to) = reader.Window(Problems.InvalidWindow);
        var repair = reader.Value(
            "repair", "true or false", static text => text is "true" or "false" ? text == "true" : (bool?)null);
        var closed = $"{closedUntil:yyyy-MM-dd'T'HH:mm:ss.fff'Z'}";
        if (to > closedUntil)
            reader.NoteFault(
                "to", $"may be {closed} now, and no later: younger payments may be in flight.", Problems.InvalidWindow);
        if (from > closedUntil)
            reader.NoteFault(
                "from", $"is later than {closed}: younger payments may be in flight.", Problems.InvalidWindow);
        return await reader.AnswerFirstFaultAsync() ? null : new ReconciliationQuery(from, to, repair ?? false);
    }
}

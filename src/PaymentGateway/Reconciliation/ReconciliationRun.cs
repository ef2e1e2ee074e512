using System.Data.Common;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Processors;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// Compares the ledger with what the processors hold, names each difference, and repairs them where asked to
/// (docs/decisions/0027-reconciliation.md). One at a time over all instances. Any thread may begin one.
/// </summary>
internal sealed partial class ReconciliationRun(
    GatewayOptions options, Lease lease, ProcessorLanes lanes, GatewayMetrics metrics, TimeProvider clock,
    ILogger<ReconciliationRun> log, ILogger<ProcessorClient> calls)
{
    private const int DifferencesMax = 1_000;

    private const string LeftMeanwhile = "Payments of this window left the ledger meanwhile: choose a later from.";

    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);
    private static readonly TimeSpan RunWithin = TimeSpan.FromMinutes(10);

    // An outcome that was on its way into the ledger when it was asked is there by then.
    private static readonly TimeSpan ConfirmAfter = TimeSpan.FromSeconds(2);

    /// <summary>
    /// UTC; a call that began then has ended, it was stored by then or never, and an adopter knows it: what was
    /// requested earlier does not change any more by itself, but for what is in doubt.
    /// </summary>
    public DateTime ClosedUntil => TimeWindow.Floor(clock.GetUtcNow().UtcDateTime
        - options.Settling.CallTimeout - options.Settling.InDoubtHorizon - options.Leasing.LeaseDuration);

    /// <summary>Reconciles. Whatever stops it is in the report, beside what was confirmed until then.</summary>
    public async Task<ReconciliationReport> RunAsync(
        ReconciliationStore ledger, ReconciliationQuery query, ReconciliationProgress progress,
        CancellationToken cancellation)
    {
        using var limit = new CancellationTokenSource(RunWithin, clock);
        using var over = CancellationTokenSource.CreateLinkedTokenSource(cancellation, limit.Token);
        var report = new ReconciliationReport(query);
        try
        {
            await FindAsync(ledger, query, report, progress, over.Token);
        }
        catch (Exception failed)
        {
            // Whatever it was: differences that were confirmed and repaired until then are reported.
            report.Stopped = Reason(failed, cancellation.IsCancellationRequested);
            if (report.Stopped.Reason == StopReason.Failed)
                Log.Failed(log, failed);
        }

        report.Calls = progress.Calls;
        Count(report);
        Log.Ended(log, report.Outcome, report.Differences.Count, report.Repaired);
        return report;
    }

    private static StoppedException Reason(Exception failed, bool isCancelled) => failed switch
    {
        StoppedException stopped => stopped,
        OperationCanceledException when isCancelled =>
            new StoppedException(StopReason.Stopping, "The instance stops, or nobody waits any more."),
        OperationCanceledException => new StoppedException(
            StopReason.TimeOver, $"Not within {RunWithin.TotalMinutes:0} minutes: choose a smaller window."),
        NotKeptException => new StoppedException(StopReason.LedgerChanged, LeftMeanwhile),
        DbException or TimeoutException =>
            new StoppedException(StopReason.LedgerUnavailable, "PostgreSQL does not answer. Try again."),
        _ => new StoppedException(StopReason.Failed, "It failed, and the instance's log says how."),
    };

    private async Task FindAsync(
        ReconciliationStore ledger, ReconciliationQuery query, ReconciliationReport report,
        ReconciliationProgress progress, CancellationToken cancellation)
    {
        var state = await ledger.StateAsync();
        var to = query.To ?? ClosedUntil;
        RefuseWhatLeft(query.From is null ? "to" : "from", query.From ?? query.To, state.KeptFrom);
        var from = query.From ?? state.ResetAt ?? await ledger.OldestAsync();
        // The oldest may be unsettled, and those stay. An hour more, so that the next one to leave does not stop it.
        if (query.From is null && from < state.KeptFrom + Hour)
            from = state.KeptFrom + Hour;
        // An empty ledger, or nothing old enough: there is nothing to compare.
        if (from is not { } begin || begin > to)
            return;

        var all = TimeWindow.Outward(begin, to);
        report.Window = all;
        using var atDefault = Client(Processor.Default);
        using var atFallback = Client(Processor.Fallback);
        var sides = new BothSides(
            ledger, atDefault, atFallback, options.Reconciling, progress, clock, cancellation);
        var found = new List<DifferingWindow>();
        report.Default = await sides.CompareAsync(Processor.Default, all);
        report.Fallback = await sides.CompareAsync(Processor.Fallback, all);
        progress.HasBegun = true;
        foreach (var (processor, compared) in new[]
        {
            (Processor.Default, report.Default.Value), (Processor.Fallback, report.Fallback.Value),
        })
        {
            var search = new WindowSearch(processor, window => sides.CompareAsync(processor, window));
            found.AddRange(await search.FindAsync(all, compared, DifferencesMax - found.Count));
        }

        progress.Phase = "naming";
        var naming = new DifferenceFinder(ledger, sides);
        var named = found.Count > 0 ? await naming.NameAsync(found) : [];
        report.IsTruncated = found.Count >= DifferencesMax || naming.IsCutShort;
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

    private ProcessorAdminClient Client(Processor processor) => new(processor, options, lease, metrics, clock, calls);

    // Asked for a second time, some seconds later.
    private static async Task ConfirmAsync(BothSides sides, Difference difference, ReconciliationReport report)
    {
        if (difference.Window is { } differing)
        {
            var again = await sides.CompareAsync(differing.Processor, differing.Window);
            if (again.Agrees)
                return;

            // It differs in another way by now, and nobody has looked into that.
            report.IsTruncated |= again != differing.Compared;
            report.Differences.Add(difference);
        }
        else if (await sides.FindAsync(difference.Payment!.Row.CorrelationId) is { } again
            && again.Compare() is { } kind)
            report.Differences.Add(difference with
            {
                Kind = kind,
                Payment = again,
                HasChanged = kind != difference.Kind,
            });
    }

    private static void RefuseWhatLeft(string field, DateTime? bound, DateTime keptFrom)
    {
        if (bound < keptFrom)
            throw new StoppedException(
                StopReason.NotKept,
                $"{field} may be {keptFrom:yyyy-MM-dd'T'HH:mm:ss'Z'} at the earliest: older payments have left.",
                field);
    }

    private static async Task CheckAsync(ReconciliationStore ledger, LedgerState before, TimeWindow window)
    {
        var now = await ledger.StateAsync();
        if ((now.Generation, now.Resets, now.Intact) != (before.Generation, before.Resets, before.Intact))
            throw new StoppedException(
                StopReason.LedgerChanged, "The ledger was purged, or emptied by a crash, meanwhile.");
        if (now.KeptFrom > window.From)
            throw new StoppedException(StopReason.LedgerChanged, LeftMeanwhile);
    }

    private void Count(ReconciliationReport report)
    {
        metrics.Reconciliations.Add(1, new KeyValuePair<string, object?>("outcome", report.Outcome));
        foreach (var difference in report.Differences)
            metrics.Differences.Add(
                1, DifferenceTags.Kind(DifferenceWords.Of(difference.Kind)),
                DifferenceTags.Repair(DifferenceWords.Of(difference.Repair)));
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

/// <summary>Why a reconciliation did not come to its end.</summary>
internal enum StopReason
{
    /// <summary>A processor does not answer.</summary>
    ProcessorUnavailable,

    /// <summary>A processor does not take its token.</summary>
    TokenRefused,

    /// <summary>PostgreSQL does not answer, or the connection with the lock broke.</summary>
    LedgerUnavailable,

    /// <summary>The ledger was purged or reset meanwhile, or payments of the window have left it.</summary>
    LedgerChanged,

    /// <summary>Payments of the window had left the ledger before.</summary>
    NotKept,

    /// <summary>It took too long.</summary>
    TimeOver,

    /// <summary>The instance stops.</summary>
    Stopping,

    /// <summary>A fault of ours.</summary>
    Failed,
}

/// <summary>A reconciliation cannot go on; the message is for an operator.</summary>
internal sealed class StoppedException(StopReason reason, string message, string? parameter = null) : Exception(message)
{
    public StopReason Reason => reason;

    /// <summary>The parameter that is wrong, where one is.</summary>
    public string? Parameter => parameter;
}

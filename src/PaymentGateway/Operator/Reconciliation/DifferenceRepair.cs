using PaymentGateway.Charging;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// Makes the ledger match the processors. A repair never charges: it puts a payment that no processor holds back in
/// doubt, and the adopter asks all processors once more, after the horizon.
/// </summary>
internal sealed partial class DifferenceRepair(
    ReconciliationStore ledger, BothSides sides, ProcessorLanes lanes, Lease lease, int generation,
    ReconciliationReport report, ILogger log)
{
    private readonly Dictionary<Processor, Comparison> _now = [];

    /// <summary>Repairs each difference, unless the ledger has changed since it was read.</summary>
    /// <exception cref="DbException">One difference may be repaired or not; its Why says so.</exception>
    /// <exception cref="StoppedException">A processor does not answer.</exception>
    public async Task RepairAllAsync(CancellationToken cancellation)
    {
        // Summed after all look-ups, to notice a processor that was emptied before one of them.
        if (report.Differences.Exists(one => one.Kind == DifferenceKind.Absent))
            foreach (var processor in sides.Processors)
                _now[processor] = await sides.CompareAsync(processor, report.Window!.Value);

        for (var at = 0; at < report.Differences.Count; at++)
        {
            cancellation.ThrowIfCancellationRequested();
            var difference = report.Differences[at];
            try
            {
                report.Differences[at] = await RepairAsync(difference);
            }
            catch (PostgresException refused) when (refused.InvariantSeverity == "ERROR")
            {
                report.Differences[at] = Left(
                    difference, $"PostgreSQL refused it ({refused.SqlState}): try again later.");
            }
            catch (Exception broken) when (broken is DbException or TimeoutException)
            {
                report.Differences[at] = Left(difference, "PostgreSQL did not answer: it may be repaired or not.");
                throw;
            }
        }
    }

    private async Task<Difference> RepairAsync(Difference difference)
    {
        if (WhyLeft(difference) is { } why)
            return Left(difference, why);

        var (row, at, heldBy) = (difference.Payment!.Row, difference.Payment.At, difference.Payment.HeldBy);
        var (repair, isDone, whyNot) = (difference.Kind, heldBy) switch
        {
            (DifferenceKind.Unrecorded, [var by]) => (
                RepairResult.Recorded, await ledger.RecordAsync(new RecordHeldArgs(
                    row.CorrelationId, row.AcceptedAt, by.Name, at[by].AmountCents, at[by].RequestedAt, generation,
                    lease.Current.Number)),
                "It was settled or purged meanwhile."),
            (_, [var by]) => (
                RepairResult.Corrected, await ledger.CorrectAsync(new CorrectArgs(
                    row.CorrelationId, row.AcceptedAt, row.Processor!, row.AmountCents, row.RequestedAt!.Value,
                    by.Name, at[by].AmountCents, at[by].RequestedAt, generation)),
                "It changed meanwhile."),
            _ => (
                RepairResult.PutBack, await ledger.PutBackAsync(new PutBackArgs(
                    row.CorrelationId, row.AcceptedAt, row.OwnerEpoch, row.Processor!, row.AmountCents,
                    row.RequestedAt!.Value, generation, sides.Names)),
                "It changed meanwhile, or its instance has older payments unsettled: try again later."),
        };
        if (!isDone)
            return Left(difference, whyNot);

        Log.Repaired(log, row.CorrelationId, Words.Of(repair), Words.Of(difference.Kind));
        return difference with { Repair = repair };
    }

    private string? WhyLeft(Difference difference) => difference switch
    {
        { Payment: null } => "Only the processor can say which payments these are.",
        { HasChanged: true } => "It changed meanwhile.",
        { Kind: DifferenceKind.ChargedTwice } => "One of the processors has to refund it.",
        { Kind: DifferenceKind.Unrecorded } when !lease.IsTrusted => "This instance has no lease now.",
        { Kind: DifferenceKind.Absent } => WhyNotAbsent(difference.Payment.Row),
        _ => null,
    };

    // A payment that is put back is charged anew, so a 404 must be beyond doubt. The age of these answers does not
    // matter, because the adopter asks all processors again.
    private string? WhyNotAbsent(PaymentRow row)
    {
        if (report.Truncated)
            return "Too much differs to charge anything anew: find out why.";
        if (_now.Values.Any(now => now.Held.Payments * 2 < now.Ledger.Payments))
            return "A processor has less than half of the payments: is it the right one?";
        if (_now.Any(now => HasLess(now.Value, report.Compared[now.Key])))
            return "A processor holds less than it did a moment ago: find out why.";
        if (lanes.All.Any(lane => lane.Health.Read().Availability != Availability.Usable))
            return "A processor is not healthy: what it does not find may be there.";
        return report.Differences.Exists(other => MayHold(other, row))
            ? "A processor counts more payments than it finds: this may be one of them."
            : null;
    }

    // Whether the unexplained excess of a window may be this payment, by its time or amount.
    private static bool MayHold(Difference other, PaymentRow row) =>
        other is { Window: { } differing, Excess: { } excess }
        && (excess.Cents >= row.AmountCents
            || (differing.Processor.Name == row.Processor && excess.Payments > 0
                && differing.Window.From <= row.RequestedAt && row.RequestedAt < differing.Window.Before));

    private static bool HasLess(Comparison now, Comparison before) =>
        now.Held.Payments < before.Held.Payments || now.Held.Cents < before.Held.Cents;

    private static Difference Left(Difference difference, string why) =>
        difference with { Repair = RepairResult.Left, Why = why };

    private static partial class Log
    {
        [LoggerMessage(601, LogLevel.Warning,
            "Payment {CorrelationId} was repaired by a reconciliation: {Repair}, because {Kind}")]
        public static partial void Repaired(ILogger log, Guid correlationId, string repair, string kind);
    }
}

using PaymentGateway.Http;
using PaymentGateway.Leasing;
using PaymentGateway.Processors;
using PaymentGateway.Routing;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// Has the ledger say what the processors hold. Nothing is charged here: what no processor holds is put back in doubt,
/// and whoever adopts it asks both processors once more, after the horizon.
/// </summary>
internal sealed partial class DifferenceRepair(
    ReconciliationStore ledger, BothSides sides, ProcessorLanes lanes, Lease lease, int generation,
    ReconciliationReport report, ILogger log)
{
    private (Comparison Default, Comparison Fallback) _now;

    /// <summary>Repairs what can be repaired, where the ledger still is as it was read.</summary>
    /// <exception cref="DbException">Nobody knows of the one that says so.</exception>
    /// <exception cref="StoppedException">A processor does not answer.</exception>
    public async Task RepairAllAsync(CancellationToken cancellation)
    {
        // After all look-ups: a processor that was emptied before one of them shows it now.
        if (report.Differences.Exists(one => one.Kind == DifferenceKind.Absent))
            _now = (
                await sides.CompareAsync(Processor.Default, report.Window!.Value),
                await sides.CompareAsync(Processor.Fallback, report.Window!.Value));

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

        var payment = difference.Payment!;
        var (repair, isDone, whyNot) = difference.Kind switch
        {
            DifferenceKind.Absent => (
                RepairResult.PutBack, await PutBackAsync(payment.Row),
                "It changed meanwhile, or its instance has older payments unsettled: try again later."),
            DifferenceKind.Unrecorded => (
                RepairResult.Recorded, await RecordAsync(payment),
                "It was settled or purged meanwhile."),
            _ => (
                RepairResult.Corrected, await CorrectAsync(payment),
                "It changed meanwhile."),
        };
        if (!isDone)
            return Left(difference, whyNot);

        Log.Repaired(log, payment.Row.CorrelationId, Words.Of(repair), Words.Of(difference.Kind));
        return difference with { Repair = repair };
    }

    private string? WhyLeft(Difference difference) => difference switch
    {
        { Payment: null } => "Only the processor can say which payments these are.",
        { HasChanged: true } => "It changed meanwhile.",
        { Kind: DifferenceKind.ChargedTwice } => "One of the processors has to refund it.",
        { Kind: DifferenceKind.Unrecorded } when !lease.IsHeld => "This instance has no lease now.",
        { Kind: DifferenceKind.Absent } => WhyNotAbsent(difference.Payment.Row),
        _ => null,
    };

    private Task<bool> PutBackAsync(PaymentRow row) => ledger.PutBackAsync(new PutBackArgs(
        row.CorrelationId, row.AcceptedAt, row.OwnerEpoch, row.Processor!.Value, row.AmountCents,
        row.RequestedAt!.Value, generation));

    private Task<bool> RecordAsync(PaymentSides payment)
    {
        var (row, by, held) = (payment.Row, payment.HeldBy!.Value, payment.At(payment.HeldBy.Value));
        return ledger.RecordAsync(new RecordHeldArgs(
            row.CorrelationId, row.AcceptedAt, (int)by, held.AmountCents, held.RequestedAt, generation, lease.Epoch));
    }

    private Task<bool> CorrectAsync(PaymentSides payment)
    {
        var (row, by, held) = (payment.Row, payment.HeldBy!.Value, payment.At(payment.HeldBy.Value));
        return ledger.CorrectAsync(new CorrectArgs(
            row.CorrelationId, row.AcceptedAt, row.Processor!.Value, row.AmountCents, row.RequestedAt!.Value,
            (int)by, held.AmountCents, held.RequestedAt, generation));
    }

    // A payment that is put back is charged anew, so a 404 must be beyond doubt. How long ago the processors were asked
    // does not matter: whoever adopts the payment asks both again.
    private string? WhyNotAbsent(PaymentRow row)
    {
        if (report.Truncated)
            return "Too much differs to charge anything anew: find out why.";
        if (HasLostMuch(_now.Default) || HasLostMuch(_now.Fallback))
            return "A processor has less than half of the payments: is it the right one?";
        if (HasLess(_now.Default, report.Default!.Value) || HasLess(_now.Fallback, report.Fallback!.Value))
            return "A processor holds less than it did a moment ago: find out why.";
        if (!IsUsable(lanes.Default) || !IsUsable(lanes.Fallback))
            return "A processor is not healthy: what it does not find may be there.";
        return report.Differences.Exists(other => MayHold(other, row))
            ? "A processor counts more payments than it finds: this may be one of them."
            : null;
    }

    // A window with more than its look-ups explain: of the payment's own time, or of its amount.
    private static bool MayHold(Difference other, PaymentRow row) => other.Window is { } window
        && (other.Excess.Cents >= row.AmountCents
            || (window.Processor == (Processor)row.Processor!.Value && other.Excess.Payments > 0
                && window.Window.From <= row.RequestedAt && row.RequestedAt < window.Window.Before));

    private static bool HasLostMuch(Comparison all) => all.Held.Payments * 2 < all.Ledger.Payments;

    private static bool HasLess(Comparison now, Comparison before) =>
        now.Held.Payments < before.Held.Payments || now.Held.Cents < before.Held.Cents;

    private static bool IsUsable(ProcessorLane lane) => lane.Health.Read().Availability == Availability.Usable;

    private static Difference Left(Difference difference, string why) =>
        difference with { Repair = RepairResult.Left, Why = why };

    private static partial class Log
    {
        [LoggerMessage(601, LogLevel.Warning,
            "Payment {CorrelationId} was repaired by a reconciliation: {Repair}, because {Kind}")]
        public static partial void Repaired(ILogger log, Guid correlationId, string repair, string kind);
    }
}

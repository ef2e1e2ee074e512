using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Adopts the payments of closed epochs: of dead or stopped instances, and of this instance's former epochs. A payment
/// that may have been sent is in doubt. If only one processor can have it, it is charged there again, which is safe;
/// otherwise it is looked up first.
/// </summary>
internal sealed partial class OrphanAdoption(
    AdoptionStore adoptions, InstanceLock instance, Lease lease, AdoptedPayments adopted, LeasingOptions options,
    GatewayMetrics metrics, TimeProvider clock, ILogger<OrphanAdoption> log)
{
    private readonly Dictionary<int, ClosedEpoch> _closed = [];

    /// <summary>Adopts as much as fits into memory; for the loop of renewals.</summary>
    /// <param name="former">This instance's former epochs at the renewal; some may not be closed yet.</param>
    public async Task AdoptAllAsync(int[] former)
    {
        var orphans = await adoptions.OrphanedAsync(instance.Identity);
        var now = clock.GetTimestamp();
        // Read after the epochs, because no new INSERT can begin for a closed epoch. Released payments are always
        // searched.
        var writers = orphans.Exists(one => one.Epoch != Owners.Nobody) ? await adoptions.WritersAsync() : [];
        foreach (var ended in _closed.Keys.Except(orphans.Select(orphaned => orphaned.Epoch)).ToList())
            _closed.Remove(ended);
        if (former.Length > 0)
            foreach (var taken in former.Except(await adoptions.NotAdoptedAsync(former)))
            {
                Log.TakenOver(log, taken);
                lease.Forget(taken);
            }

        foreach (var orphaned in orphans)
        {
            var epoch = orphaned.Epoch;
            if (!_closed.TryGetValue(epoch, out var closed))
                _closed.Add(epoch, closed = new ClosedEpoch(now));
            var isLast = epoch != Owners.Nobody && closed.Earlier.NoteRunning(writers);
            var (from, endsEpoch) = closed.Search ?? (orphaned.LowWaterMark, isLast);
            try
            {
                if (await AdoptAsync(orphaned, closed.Since, from) is not { } page)
                    continue;

                closed.Search = page.Next is { } next ? (next, endsEpoch) : null;
                if (closed.Search is not null)
                    lease.CheckSoon.Set();
                else if (endsEpoch)
                    await adoptions.MarkAdoptedAsync(epoch, from);
                closed.IsRefused = false;
            }
            catch (PostgresException refused) when (refused.InvariantSeverity == "ERROR")
            {
                // Another transaction may have locked its payments. The other epochs do not wait for it.
                var level = closed.IsRefused ? LogLevel.Debug : LogLevel.Warning;
                closed.IsRefused = true;
                Log.NotAdopted(log, level, epoch, refused.MessageText);
            }
        }
    }

    /// <summary>Adopts one page, because more would hold up the renewal; null when nothing was searched.</summary>
    private async Task<AdoptedPage?> AdoptAsync(EpochRow orphaned, long closedSince, DateTime from)
    {
        var adopter = lease.Current;
        var former = lease.Former.GetValueOrDefault(orphaned.Epoch);
        var limit = Math.Min(
            former is null ? options.AdoptionPage : options.TakeOverPage,
            adopted.RemainingCapacity(adopter, former, new ProcessorSet(orphaned.UsedProcessors)));
        if (limit <= 0 || !adopter.IsTrusted || former is { IsAtRest: false })
            return null;

        // A renewal in flight that does not know of this adoption has an older number, so the database refuses it.
        adopter.BeginAdoption(from);
        try
        {
            var page = await adoptions.AdoptPageAsync(
                new AdoptArgs(orphaned.Epoch, adopter.Number, from, limit, adopter.NextRenewal(), options.RowsMax));
            if (page is not { Payments.Count: > 0 })
                return page;

            // After a jump of the database's clock the owner of a closed epoch may send until its own lease ends, so
            // doubts begin one lease after the close. The time of a release is unknown, so it counts from now.
            var closedAt = orphaned.Epoch == Owners.Nobody ? clock.GetTimestamp() : closedSince;
            var doubtSince = closedAt + clock.TicksOf(options.LeaseDuration);
            foreach (var row in page.Payments)
                adopted.Add(adopter, row, former, doubtSince);
            if (former is null)
            {
                metrics.Adopted.Add(page.Payments.Count);
                Log.Adopted(log, page.Payments.Count, orphaned.Epoch);
            }

            return page;
        }
        catch (Exception uncertain) when (
            uncertain is not (PostgresException { InvariantSeverity: "ERROR" } or NotSentException))
        {
            // Whatever failed, the adoption may be committed, and this epoch then owns rows that it does not know. An
            // ERROR proves that nothing was committed; the end of a backend does not.
            adopter.Spoil("an adoption broke");
            throw;
        }
        finally
        {
            adopter.EndAdoption();
        }
    }

    /// <summary>A closed epoch between two calls.</summary>
    /// <param name="since">A monotonic timestamp from after the first call that found it closed.</param>
    private sealed class ClosedEpoch(long since)
    {
        public long Since => since;

        public EarlierWriters Earlier { get; } = new();

        /// <summary>
        /// The current search: everything before From is settled or adopted. EndsEpoch: all statements of the epoch had
        /// ended when the search began, so it finds all payments. Null between two searches.
        /// </summary>
        public (DateTime From, bool EndsEpoch)? Search { get; set; }

        /// <summary>The last adoption failed.</summary>
        public bool IsRefused { get; set; }
    }

    private static partial class Log
    {
        [LoggerMessage(212, LogLevel.Warning, "{Count} payments adopted from epoch {Epoch}")]
        public static partial void Adopted(ILogger log, int count, int epoch);

        [LoggerMessage(222, LogLevel.Information, "All payments of this instance's epoch {Epoch} are taken over")]
        public static partial void TakenOver(ILogger log, int epoch);

        [LoggerMessage(EventId = 218, Message = "Failed to adopt payments of epoch {Epoch}, trying again: {Reason}")]
        public static partial void NotAdopted(ILogger log, LogLevel level, int epoch, string reason);
    }
}

/// <summary>
/// Adds adopted payments to the queue if they are unsent or only one processor may have them, otherwise to the doubts.
/// </summary>
internal sealed class AdoptedPayments(DoubtNotes notes, SettlingOptions options)
{
    // Doubts at several processors fill half at most, so doubts that one charge can settle still fit.
    /// <param name="adopter">The epoch that adopts.</param>
    /// <param name="former">
    /// This instance's epoch that had them, whose doubts are in memory already and need no room; null: another's.
    /// </param>
    /// <param name="used">The processors that their epoch may have used.</param>
    public int RemainingCapacity(Epoch adopter, Epoch? former, ProcessorSet used) => former is not null
        ? adopter.Queue.RemainingCapacity
        : Math.Min(
            (used.IsEmpty || used.IsSingle ? options.DoubtsMax : options.DoubtsMax / 2) - adopter.Doubts.Count,
            adopter.Queue.RemainingCapacity);

    /// <param name="adopter">The epoch that owns the payment in the table.</param>
    /// <param name="row">Its row; MayBeAt has the processors at which its earlier owners may have charged it.</param>
    /// <param name="former">This instance's epoch that owned it; null where it was another instance's.</param>
    /// <param name="doubtSince">Monotonic timestamp: by then its earlier owner has stopped sending.</param>
    public void Add(Epoch adopter, AdoptedRow row, Epoch? former, long doubtSince)
    {
        var stored = row.Stored;
        var known = former?.Find(stored.CorrelationId, stored.AcceptedAt);
        var payment = known is { Phase: PaymentPhase.Waiting or PaymentPhase.InDoubt } ? known : stored.ToPayment();
        adopter.Unsettled.Add(payment);
        var next = payment == known
            ? payment.Inherit(adopter.Number)
            : payment.Adopt(WhereItMayBe(row, known, former), doubtSince);
        if (next == NextStep.Resolve)
        {
            adopter.Doubts.Add(payment);
            return;
        }

        if (payment.MayBeStored)
            notes.Begin(payment);
        adopter.Queue.Return(payment);
    }

    // A payment that was settled, and whose outcome is not in the ledger all the same, is at its processor. One that
    // this instance accepted and never had in memory is nowhere.
    private static ProcessorSet WhereItMayBe(AdoptedRow row, Payment? known, Epoch? former) =>
        known is { Phase: PaymentPhase.Settled } ? known.MayBeAt
        : known is null && row.WasAsAccepted && former?.IsSurelyUnsent(row.Stored.AcceptedAt) == true ? default
        : new ProcessorSet(row.MayBeAt!.Value);
}

/// <summary>
/// The statements that may have begun before a closed epoch's close was committed. When all have ended, prepared ones
/// too, one query finds all their rows (docs/decisions/0011-a-broken-insert-is-asked-for-once.md).
/// </summary>
internal sealed class EarlierWriters
{
    private HashSet<string>? _first;
    private HashSet<string>? _prepared;

    /// <summary>Notes which statements run, and tells whether every one that ran at the first call has ended.</summary>
    /// <param name="writers">The statements that ran at a moment after the close was committed.</param>
    public bool NoteRunning(List<string> writers) =>
        // A transaction that has lost its lock since the first call may be prepared now, under another name.
        HaveEnded(ref _first, writers)
        && HaveEnded(ref _prepared, writers.FindAll(one => one.StartsWith("prepared ", StringComparison.Ordinal)));

    private static bool HaveEnded(ref HashSet<string>? awaited, List<string> writers)
    {
        (awaited ??= [.. writers]).IntersectWith(writers);
        return awaited.Count == 0;
    }
}

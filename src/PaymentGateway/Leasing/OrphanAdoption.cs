using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Leasing;

/// <summary>
/// Adopts the payments of dead or stopped instances. A payment that may have been sent is in doubt. If only one
/// processor can have it, it is charged there again, which is safe; otherwise it is looked up first.
/// </summary>
internal sealed partial class OrphanAdoption(
    LeaseStore leases, AdoptionStore adoptions, Lease lease, LowWaterMark mark, AdoptedPayments adopted,
    LeasingOptions options, GatewayMetrics metrics, TimeProvider clock, ILogger<OrphanAdoption> log)
{
    private readonly Dictionary<int, ClosedEpoch> _closed = [];

    /// <summary>Adopts as much as fits into memory; for the loop of renewals.</summary>
    public async Task AdoptAllAsync()
    {
        var orphans = await adoptions.OrphanedAsync();
        var now = clock.GetTimestamp();
        // Read after the epochs, because no new INSERT can begin for a closed epoch. Released payments are always
        // searched.
        var writers = orphans.Exists(one => one.Epoch != PaymentStates.Nobody) ? await adoptions.WritersAsync() : [];
        foreach (var ended in _closed.Keys.Except(orphans.Select(orphaned => orphaned.Epoch)).ToList())
            _closed.Remove(ended);
        foreach (var orphaned in orphans)
        {
            var epoch = orphaned.Epoch;
            if (!_closed.TryGetValue(epoch, out var closed))
                _closed.Add(epoch, closed = new ClosedEpoch(now));
            var isLast = epoch != PaymentStates.Nobody && closed.Earlier.AreOver(writers);
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
        var epoch = orphaned.Epoch;
        var limit = Math.Min(
            options.AdoptionPage, adopted.RemainingCapacity(new ProcessorSet(orphaned.UsedProcessors)));
        if (limit <= 0 || !lease.IsHeld)
            return null;

        // A renewal in flight that does not know of this adoption has an older number, so the database refuses it.
        mark.BeginAdoption(from);
        var adopter = lease.Epoch;
        try
        {
            var page = await adoptions.AdoptPageAsync(
                new AdoptArgs(epoch, adopter, from, limit, lease.NextNumber(), options.RowsMax));
            if (page is not { Payments.Count: > 0 })
                return page;

            // After a jump of the database's clock the owner of a closed epoch may send until its own lease ends, so
            // doubts begin one lease after the close. The time of a release is unknown, so it counts from now.
            var closedAt = epoch == PaymentStates.Nobody ? clock.GetTimestamp() : closedSince;
            var doubtSince = closedAt + clock.TicksOf(options.LeaseDuration);
            foreach (var row in page.Payments)
                adopted.Add(row.ToPayment(), new ProcessorSet(row.MayBeAt!.Value), doubtSince);
            metrics.Adopted.Add(page.Payments.Count);
            Log.Adopted(log, page.Payments.Count, epoch);
            return page;
        }
        catch (Exception uncertain) when (uncertain is not PostgresException { InvariantSeverity: "ERROR" })
        {
            // Whatever failed, the adoption may be committed. This epoch then owns rows that it does not know, so it
            // ends and a new epoch adopts them. It is never renewed again, so its lowered mark stays; the close is only
            // quicker than its expiry. An ERROR proves that nothing was committed; the end of a backend does not.
            lease.Lose(adopter);
            await leases.CloseAsync(adopter);
            throw;
        }
        finally
        {
            mark.EndAdoption();
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

        [LoggerMessage(EventId = 218, Message = "Payments of epoch {Epoch} could not be adopted now: {Reason}")]
        public static partial void NotAdopted(ILogger log, LogLevel level, int epoch, string reason);
    }
}

/// <summary>
/// Adds adopted payments to the queue if they are unsent or only one processor may have them, otherwise to the doubts.
/// </summary>
internal sealed class AdoptedPayments(
    UnsettledPayments unsettled, PaymentQueue queue, DoubtQueue doubts, SettlingOptions options)
{
    // Doubts at several processors fill half at most, so doubts that one charge can settle still fit.
    /// <param name="used">The processors that their epoch may have used.</param>
    public int RemainingCapacity(ProcessorSet used) => Math.Min(
        (used.IsEmpty || used.IsSingle ? options.DoubtsMax : options.DoubtsMax / 2) - doubts.Count,
        queue.RemainingCapacity);

    /// <param name="payment">A payment that this epoch owns in the table.</param>
    /// <param name="mayBeAt">The processors at which its earlier owners may have charged it.</param>
    /// <param name="doubtSince">Monotonic timestamp: by then its earlier owner has stopped sending.</param>
    public void Add(Payment payment, ProcessorSet mayBeAt, long doubtSince)
    {
        unsettled.Add(payment);
        if (payment.Adopt(mayBeAt, doubtSince) == NextStep.Resolve)
        {
            doubts.Add(payment);
            return;
        }

        if (payment.InDoubt)
            doubts.Begin(payment);
        queue.Return(payment);
    }
}

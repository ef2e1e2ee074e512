using PaymentGateway.Configuration;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Leasing;

/// <summary>
/// Takes over what dead or stopped instances left. What may have been sent is in doubt: where it can be at default
/// only it is charged there again, which is safe; else it is looked up first.
/// </summary>
internal sealed partial class OrphanAdoption(
    LeaseStore leases, Lease lease, LowWaterMark mark, AdoptedPayments adopted, LeasingOptions options,
    GatewayMetrics metrics, TimeProvider clock, ILogger<OrphanAdoption> log)
{
    private const int PageMax = 500;

    private readonly Dictionary<int, ClosedEpoch> _closed = [];

    /// <summary>Adopts as much as fits into memory; to be called in turn with the renewals.</summary>
    public async Task AdoptAllAsync()
    {
        var orphans = await leases.OrphanedAsync();
        var now = clock.GetTimestamp();
        // The running statements are read once for all epochs, after the epochs were read as closed, because no new
        // INSERT can begin for a closed epoch. What clean stops released is always searched.
        var writers = orphans.Exists(one => one.Epoch != PaymentStates.Nobody) ? await leases.WritersAsync() : [];
        foreach (var ended in _closed.Keys.Except(orphans.Select(orphaned => orphaned.Epoch)).ToList())
            _closed.Remove(ended);
        foreach (var orphaned in orphans)
        {
            var epoch = orphaned.Epoch;
            if (!_closed.TryGetValue(epoch, out var closed))
                _closed.Add(epoch, closed = new ClosedEpoch(now));
            var isLast = epoch != PaymentStates.Nobody && closed.Earlier.AreOver(writers);
            var search = closed.Search ?? new Search(orphaned.LowWaterMark, isLast);
            try
            {
                if (await AdoptAsync(orphaned, closed, search) && search.IsLast)
                    await leases.MarkAdoptedAsync(epoch, search.From);
                closed.IsRefused = false;
            }
            catch (PostgresException refused) when (refused.InvariantSeverity == "ERROR")
            {
                // Another transaction holds its payments, say. The other epochs' need not wait for it.
                var level = closed.IsRefused ? LogLevel.Debug : LogLevel.Warning;
                closed.IsRefused = true;
                Log.NotAdopted(log, level, epoch, refused.MessageText);
            }
        }
    }

    /// <summary>Adopts one page: many would keep the lease from being renewed.</summary>
    /// <returns>Whether nothing is left to adopt there.</returns>
    private async Task<bool> AdoptAsync(OrphanedEpoch orphaned, ClosedEpoch closed, Search search)
    {
        var from = orphaned.Epoch;
        var limit = Math.Min(PageMax, adopted.RemainingCapacity(orphaned.UsedFallback));
        if (limit <= 0 || !lease.IsHeld)
            return false;

        AdoptedPage? page;
        // A renewal may be in flight. One that does not know of this has an older number.
        mark.BeginAdoption(search.From);
        try
        {
            page = await AdoptPageAsync(
                new AdoptArgs(from, lease.Epoch, search.From, limit, lease.NextNumber()));
            if (page is null)
                return false;

            // A jump of the database's clock closes an epoch before its time: it sends until its own lease ends. What
            // clean stops released has no time of its own but this one.
            var closedAt = from == PaymentStates.Nobody ? clock.GetTimestamp() : closed.Since;
            var doubtSince = closedAt + clock.TicksOf(options.LeaseDuration);
            foreach (var row in page.Payments)
                adopted.Add(row.ToPayment(), row.Handover, doubtSince);
        }
        finally
        {
            mark.EndAdoption();
        }

        if (page.Payments.Count > 0)
        {
            metrics.Adopted.Add(page.Payments.Count);
            Log.Adopted(log, page.Payments.Count, from);
        }

        closed.Search = page.Next is { } next ? search with { From = next } : null;
        if (closed.Search is null)
            return true;

        lease.CheckSoon.Set();
        return false;
    }

    private async Task<AdoptedPage?> AdoptPageAsync(AdoptArgs page)
    {
        try
        {
            return await leases.AdoptPageAsync(page);
        }
        catch (Exception uncertain) when (
            uncertain is (DbException or TimeoutException)
            and not PostgresException { InvariantSeverity: "ERROR" })
        {
            // Perhaps committed, and then the rows are ours without our knowing them: a new epoch adopts them with
            // everything else. The old one is never renewed again, so its lowered mark stays; closing it is only
            // quicker than its expiry. An error means that it was not committed; a backend's end is not.
            lease.Lose(page.To);
            await leases.CloseAsync(page.To);
            throw;
        }
    }

    /// <summary>A closed epoch between the turns.</summary>
    /// <param name="since">A monotonic timestamp from after the first turn that found it closed.</param>
    private sealed class ClosedEpoch(long since)
    {
        public long Since => since;

        public EarlierWriters Earlier { get; } = new();

        /// <summary>Null between two searches.</summary>
        public Search? Search { get; set; }

        /// <summary>Its payments could not be adopted at the last try.</summary>
        public bool IsRefused { get; set; }
    }

    /// <summary>Where the search in an epoch goes on.</summary>
    /// <param name="From">Everything before it is settled or adopted.</param>
    /// <param name="IsLast">Every statement of the epoch was over when the search began: it finds all payments.</param>
    private sealed record Search(DateTime From, bool IsLast);

    private static partial class Log
    {
        [LoggerMessage(212, LogLevel.Warning, "{Count} payments adopted from epoch {Epoch}")]
        public static partial void Adopted(ILogger log, int count, int epoch);

        [LoggerMessage(EventId = 218, Message = "Payments of epoch {Epoch} could not be adopted now: {Reason}")]
        public static partial void NotAdopted(ILogger log, LogLevel level, int epoch, string reason);
    }
}

/// <summary>
/// Where adopted payments go in memory: to the queue, where they are unsent or default alone may have them, or else to
/// the doubts.
/// </summary>
internal sealed class AdoptedPayments(UnsettledPayments unsettled, PaymentQueue queue, DoubtQueue doubts)
{
    private const int DoubtsMax = 4_000;

    // Twice as many, because doubts that wait for fallback's answer must leave capacity for those that default alone
    // can settle.
    private const int DoubtsAtDefaultMax = 2 * DoubtsMax;

    /// <summary>How many more payments of an epoch fit.</summary>
    public int RemainingCapacity(bool usedFallback) =>
        Math.Min((usedFallback ? DoubtsMax : DoubtsAtDefaultMax) - doubts.Count, queue.RemainingCapacity);

    /// <param name="payment">In the table it is this epoch's.</param>
    /// <param name="handover">How it was handed over, as in <see cref="PaymentStates"/>.</param>
    /// <param name="doubtSince">Monotonic timestamp: by then its earlier owner has stopped sending.</param>
    public void Add(Payment payment, short handover, long doubtSince)
    {
        unsettled.Add(payment);
        if (handover == PaymentStates.Unsent)
        {
            queue.Return(payment);
            return;
        }

        payment.InDoubt = true;
        payment.DoubtSince = doubtSince;
        if (handover == PaymentStates.InDoubtAtDefault)
        {
            payment.ChargedAt = Processor.Default;
            doubts.Begin(payment);
            queue.Return(payment);
            return;
        }

        doubts.Add(payment);
    }
}

using System.Data.Common;
using Npgsql;
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
    LeaseStore leases, Lease lease, UnsettledPayments unsettled, PaymentQueue queue, DoubtQueue doubts,
    LeasingOptions options, GatewayMetrics metrics, TimeProvider clock, ILogger<OrphanAdoption> log)
{
    private const int PageMax = 500;
    private const int DoubtsMax = 4_000;

    // Those that wait for fallback's answer leave capacity for those that default alone can settle.
    private const int DoubtsAtDefaultMax = 2 * DoubtsMax;

    private readonly EarlierWriters _earlier = new();

    // Monotonic timestamps from after the first search that found an epoch closed.
    private readonly Dictionary<int, long> _closedSince = [];

    // The searches that are not at their end.
    private readonly Dictionary<int, Search> _searches = [];

    // The epochs whose payments could not be adopted at the last try.
    private readonly HashSet<int> _refused = [];

    private long _adoptingFrom = long.MaxValue;

    /// <summary>
    /// Nothing that is being adopted now is older; null when nothing is. To be read before what is unsettled.
    /// </summary>
    public DateTime? Oldest() => Volatile.Read(ref _adoptingFrom) is var ticks and < long.MaxValue
        ? new DateTime(ticks, DateTimeKind.Utc)
        : null;

    /// <summary>Adopts as much as fits into memory; to be called in turn with the renewals.</summary>
    public async Task AdoptAllAsync()
    {
        var orphans = await leases.OrphanedAsync();
        var now = clock.GetTimestamp();
        var epochs = orphans.ConvertAll(orphaned => orphaned.Epoch);
        // The running statements are read once for all epochs, after the epochs were read as closed, because no new
        // INSERT can begin for a closed epoch. What clean stops released is always searched.
        var writers = epochs.Exists(epoch => epoch != PaymentStates.Nobody) ? await leases.WritersAsync() : [];
        _earlier.KeepOnly(epochs);
        foreach (var ended in _closedSince.Keys.Except(epochs).ToList())
            _closedSince.Remove(ended);
        foreach (var ended in _searches.Keys.Except(epochs).ToList())
            _searches.Remove(ended);
        foreach (var orphaned in orphans)
        {
            var epoch = orphaned.Epoch;
            _closedSince.TryAdd(epoch, now);
            var isLast = epoch != PaymentStates.Nobody && _earlier.AreOver(epoch, writers);
            var search = _searches.GetValueOrDefault(epoch) ?? new Search(orphaned.LowWaterMark, isLast);
            try
            {
                if (await AdoptAsync(orphaned, search) && search.IsLast)
                    await leases.MarkAdoptedAsync(epoch, search.From);
                _refused.Remove(epoch);
            }
            catch (PostgresException refused) when (refused.InvariantSeverity == "ERROR")
            {
                // Another transaction holds its payments, say. The other epochs' need not wait for it.
                Log.NotAdopted(
                    log, _refused.Add(epoch) ? LogLevel.Warning : LogLevel.Debug, epoch, refused.MessageText);
            }
        }
    }

    /// <summary>Adopts one page: many would keep the lease from being renewed.</summary>
    /// <returns>Whether nothing is left to adopt there.</returns>
    private async Task<bool> AdoptAsync(OrphanedEpoch orphaned, Search search)
    {
        var from = orphaned.Epoch;
        var doubtsLeft = (orphaned.UsedFallback ? DoubtsMax : DoubtsAtDefaultMax) - doubts.Count;
        var limit = Math.Min(PageMax, Math.Min(doubtsLeft, queue.RemainingCapacity));
        if (limit <= 0 || !lease.IsHeld)
            return false;

        AdoptedPage? page;
        // A renewal may be in flight. One that does not know of this has an older number.
        Volatile.Write(ref _adoptingFrom, search.From.Ticks);
        try
        {
            page = await AdoptPageAsync(
                new AdoptArgs(from, lease.Epoch, search.From, limit, lease.NextNumber()));
            if (page is null)
                return false;

            // A jump of the database's clock closes an epoch before its time: it sends until its own lease ends. What
            // clean stops released has no time of its own but this one.
            var closedAt = from == PaymentStates.Nobody ? clock.GetTimestamp() : _closedSince[from];
            var doubtSince = closedAt + clock.TicksOf(options.LeaseDuration);
            foreach (var row in page.Payments)
                Take(row, doubtSince);
        }
        finally
        {
            Volatile.Write(ref _adoptingFrom, long.MaxValue);
        }

        if (page.Payments.Count > 0)
        {
            metrics.Adopted.Add(page.Payments.Count);
            Log.Adopted(log, page.Payments.Count, from);
        }

        if (page.Next is not { } next)
        {
            _searches.Remove(from);
            return true;
        }

        _searches[from] = search with { From = next };
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

    private void Take(StoredPayment row, long doubtSince)
    {
        var payment = row.ToPayment();
        unsettled.Add(payment);
        if (row.Handover == PaymentStates.Unsent)
        {
            queue.Return(payment);
            return;
        }

        payment.InDoubt = true;
        payment.DoubtSince = doubtSince;
        if (row.Handover == PaymentStates.InDoubtAtDefault)
        {
            payment.ChargedAt = Processor.Default;
            doubts.Begin(payment);
            queue.Return(payment);
            return;
        }

        doubts.Add(payment);
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

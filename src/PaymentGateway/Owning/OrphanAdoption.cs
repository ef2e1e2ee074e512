using System.Data.Common;
using Npgsql;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;
using PaymentGateway.Settling;

namespace PaymentGateway.Owning;

/// <summary>
/// Takes over what dead or stopped instances left. What may have been sent is in doubt: where it can be at default
/// only it is charged there again, which is safe; else it is looked up first.
/// </summary>
internal sealed partial class OrphanAdoption(
    LeaseStore leases, Lease lease, OpenPayments open, PaymentQueue queue, DoubtResolver doubts, OwningOptions options,
    TimeProvider clock, ILogger<OrphanAdoption> log)
{
    private const int PageMax = 500;
    private const int DoubtsMax = 4_000;

    // Those that wait for fallback's word leave room for those that default alone can settle.
    private const int DoubtsAtDefaultMax = 2 * DoubtsMax;
    private static readonly TimeSpan LookFirst = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LookMost = TimeSpan.FromSeconds(30);

    // Epochs where nothing was left at the last look; what a late statement adds is found by a later one.
    private readonly Dictionary<int, EmptyLook> empty = [];

    // Monotonic timestamps from after the first look that found an epoch closed.
    private readonly Dictionary<int, long> closedSince = [];

    // How far a look has come that is not at its end: the settled ones before need not be passed again.
    private readonly Dictionary<int, DateTime> cursors = [];

    /// <summary>Adopts as much as there is room for; to be called in turn with the renewals.</summary>
    public async Task AdoptAllAsync()
    {
        var orphans = await leases.OrphanedAsync();
        var now = clock.GetTimestamp();
        foreach (var orphaned in orphans)
        {
            var epoch = orphaned.Epoch;
            closedSince.TryAdd(epoch, now);
            if (empty.TryGetValue(epoch, out var last) && clock.GetTimestamp() < last.NextAt)
                continue;

            var from = cursors.GetValueOrDefault(epoch, orphaned.SettledBefore);
            if (!await AdoptAsync(orphaned with { SettledBefore = from }))
            {
                empty.Remove(epoch);
                continue;
            }

            // What clean stops freed is always looked for.
            if (epoch == 0)
                continue;

            await leases.MarkAdoptedAsync(epoch);
            empty[epoch] = Later(last.Wait);
        }

        foreach (var ended in closedSince.Keys.Except(orphans.Select(orphaned => orphaned.Epoch)).ToList())
        {
            empty.Remove(ended);
            closedSince.Remove(ended);
        }
    }

    private EmptyLook Later(TimeSpan waited)
    {
        var wait = waited == default ? LookFirst : waited * 2 < LookMost ? waited * 2 : LookMost;
        return new EmptyLook(clock.GetTimestamp() + clock.TicksOf(wait), wait);
    }

    /// <summary>Adopts one page: many would keep the lease from being renewed.</summary>
    /// <returns>Whether nothing is left to adopt there.</returns>
    private async Task<bool> AdoptAsync(OrphanedEpoch orphaned)
    {
        var from = orphaned.Epoch;
        var doubtsRoom = (orphaned.UsedFallback ? DoubtsMax : DoubtsAtDefaultMax) - doubts.Count;
        var limit = Math.Min(PageMax, Math.Min(doubtsRoom, queue.Room));
        if (limit <= 0 || !lease.IsHeld)
            return false;

        var page = await AdoptPageAsync(new AdoptArgs(from, lease.Epoch, orphaned.SettledBefore, limit));
        // A jump of the database's clock closes an epoch before its time: it sends until its own lease ends. What clean
        // stops freed has no time of its own but this one.
        var closedAt = from == 0 ? clock.GetTimestamp() : closedSince[from];
        var doubtSince = closedAt + clock.TicksOf(options.LeaseDuration);
        foreach (var row in page)
            Take(row, doubtSince);
        if (page.Count > 0)
            Log.Adopted(log, page.Count, from);
        if (page.Count < limit)
        {
            cursors.Remove(from);
            return true;
        }

        cursors[from] = page.Max(row => row.AcceptedAt);
        lease.CheckSoon.Set();
        return false;
    }

    private async Task<List<StoredPayment>> AdoptPageAsync(AdoptArgs page)
    {
        try
        {
            return await leases.AdoptAsync(page);
        }
        catch (Exception uncertain) when (uncertain is (DbException or TimeoutException) and not PostgresException)
        {
            // Perhaps committed, and then the rows are ours without our knowing them: a new epoch adopts them with
            // everything else. The old one is never renewed again, so its widened bound stays; closing it is only
            // quicker than its lapse. A PostgresException is the server's word that it was not committed.
            lease.Lose();
            await leases.CloseAsync(page.To);
            throw;
        }
    }

    private void Take(StoredPayment row, long doubtSince)
    {
        var payment = row.ToPayment();
        open.Add(payment);
        if (row.Handover == StoredPayment.HandedOverUnsent)
        {
            queue.Return(payment);
            return;
        }

        payment.InDoubt = true;
        payment.DoubtSince = doubtSince;
        if (row.Handover == StoredPayment.HandedOverAtDefault)
        {
            payment.ChargedAt = Processor.Default;
            queue.Return(payment);
            return;
        }

        doubts.Add(payment);
    }

    /// <summary>When an epoch is looked at again; NextAt is a monotonic timestamp.</summary>
    private readonly record struct EmptyLook(long NextAt, TimeSpan Wait);

    private static partial class Log
    {
        [LoggerMessage(212, LogLevel.Warning, "{Count} payments adopted from epoch {Epoch}")]
        public static partial void Adopted(ILogger log, int count, int epoch);
    }
}

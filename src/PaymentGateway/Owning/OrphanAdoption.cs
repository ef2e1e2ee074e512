using System.Data.Common;
using Npgsql;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;
using PaymentGateway.Settling;

namespace PaymentGateway.Owning;

/// <summary>
/// Takes over what dead or stopped instances left. What may have been sent is in doubt and is looked up first.
/// </summary>
internal sealed partial class OrphanAdoption(
    LeaseStore leases, Lease lease, OpenPayments open, PaymentQueue queue, DoubtResolver doubts, TimeProvider clock,
    ILogger<OrphanAdoption> log)
{
    private const int PageMax = 500;
    private const int DoubtsMax = 4_000;

    private readonly EarlierWriters earlier = new(leases);

    // How far a look has come that is not at its end: the settled ones before need not be passed again.
    private readonly Dictionary<int, DateTime> cursors = [];

    private long adoptingFrom = long.MaxValue;

    /// <summary>
    /// Nothing that is being adopted now is older; null when nothing is. To be read before what is open.
    /// </summary>
    public DateTime? Oldest() => Volatile.Read(ref adoptingFrom) is var ticks and < long.MaxValue
        ? new DateTime(ticks, DateTimeKind.Utc)
        : null;

    /// <summary>Adopts as much as there is room for; to be called in turn with the renewals.</summary>
    public async Task AdoptAllAsync()
    {
        var orphans = await leases.OrphanedAsync();
        earlier.KeepOnly(orphans.Select(orphaned => orphaned.Epoch));
        foreach (var (epoch, settledBefore, lapsedSeconds) in orphans)
        {
            // Asked before the look that may be the last. What clean stops freed is always looked for.
            var isLast = epoch != 0 && await earlier.AreOverAsync(epoch);
            var from = cursors.GetValueOrDefault(epoch, settledBefore);
            if (await AdoptAsync(epoch, from, TimeSpan.FromSeconds(lapsedSeconds)) && isLast)
                await leases.MarkAdoptedAsync(epoch);
        }
    }

    /// <summary>Adopts one page: many would keep the lease from being renewed.</summary>
    /// <returns>Whether nothing is left to adopt there.</returns>
    private async Task<bool> AdoptAsync(int from, DateTime settledBefore, TimeSpan lapsed)
    {
        var limit = Math.Min(PageMax, Math.Min(DoubtsMax - doubts.Count, queue.Room));
        if (limit <= 0 || !lease.IsHeld)
            return false;

        List<StoredPayment> page;
        // A renewal may be under way. One that does not know of this has an older number.
        Volatile.Write(ref adoptingFrom, settledBefore.Ticks);
        try
        {
            page = await AdoptPageAsync(new AdoptArgs(from, lease.Epoch, settledBefore, limit, lease.NextNumber()));
            var doubtSince = clock.GetTimestamp() - clock.TicksOf(lapsed);
            foreach (var row in page)
                Take(row, doubtSince);
        }
        finally
        {
            Volatile.Write(ref adoptingFrom, long.MaxValue);
        }

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
        catch (Exception uncertain) when (
            uncertain is (DbException or TimeoutException)
            and not PostgresException { InvariantSeverity: "ERROR" })
        {
            // Perhaps committed, and then the rows are ours without our knowing them: a new epoch adopts them with
            // everything else. The old one is never renewed again, so its widened bound stays; closing it is only
            // quicker than its lapse. An error is the server's word that it was not committed; a backend's end is not.
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
        doubts.Add(payment);
    }

    private static partial class Log
    {
        [LoggerMessage(212, LogLevel.Warning, "{Count} payments adopted from epoch {Epoch}")]
        public static partial void Adopted(ILogger log, int count, int epoch);
    }
}

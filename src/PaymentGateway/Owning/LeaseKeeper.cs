using System.Data.Common;
using Npgsql;
using PaymentGateway.Queueing;
using PaymentGateway.Recording;
using PaymentGateway.Settling;

namespace PaymentGateway.Owning;

/// <summary>
/// Keeps this instance's lease, adopts what dead or stopped instances left, and notices a purge by another instance.
/// One loop, so that no adoption falls between the reading of what is open and the renewal that tells it.
/// </summary>
internal sealed partial class LeaseKeeper(
    SchemaSetup schema, LeaseStore leases, PaymentStore payments, Lease lease, InstanceLock instance, OpenPayments open,
    AcceptanceClock acceptances, StoredBacklog backlog, PaymentQueue queue, DoubtResolver doubts, GatewayOptions options, TimeProvider clock,
    ILogger<LeaseKeeper> log) : BackgroundService
{
    private const int AdoptPageMax = 500;
    private const int DoubtsMax = 4_000;
    private const int NobodysEpoch = 0;

    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    private bool schemaKnown;
    private int generation;
    private bool away;

    /// <summary>Takes the first lease before the listener opens, when PostgreSQL is there; else goes on without.</summary>
    public override async Task StartAsync(CancellationToken cancellationToken)
    {
        await TurnAsync();
        await base.StartAsync(cancellationToken);
    }

    /// <summary>Closes the epoch and frees what it has not settled, for anyone to take at once.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        await base.StopAsync(cancellationToken);
        var epoch = lease.Epoch;
        if (epoch == 0)
            return;

        var inDoubt = open.Snapshot().Where(payment => payment.InDoubt).Select(payment => payment.Id).ToArray();
        var before = SettledBefore();
        lease.Lose();
        try
        {
            var freed = await leases.ReleaseAsync(new ReleaseArgs(epoch, before, inDoubt));
            if (freed > 0)
                Log.Released(log, epoch, freed, inDoubt.Length);
        }
        catch (Exception gone) when (gone is DbException or TimeoutException)
        {
            Log.ReleaseFailed(log, epoch, gone.Message);
        }
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            await lease.CheckSoon.WaitAsync(options.Owning.RenewInterval, stoppingToken);
            await TurnAsync();
        }
    }

    private async Task TurnAsync()
    {
        try
        {
            if (!schemaKnown)
            {
                await schema.EnsureAsync();
                schemaKnown = true;
            }

            await RenewAsync();
            await leases.CloseLapsedAsync(new CloseLeasesArgs(instance.IsProof ? instance.Identity : "", lease.Epoch));
            await AdoptAllAsync();
            away = false;
        }
        catch (Exception gone) when (gone is not (OperationCanceledException or ConfigurationException))
        {
            // The schema may be another one when the server is back.
            schemaKnown &= gone is not PostgresException { SqlState: PostgresErrorCodes.UndefinedTable };
            if (!away)
                Log.DatabaseAway(log, gone.Message);
            away = true;
        }
    }

    private async Task RenewAsync()
    {
        var askedAt = clock.GetTimestamp();
        var epoch = lease.Epoch;
        var current = epoch == 0
            ? null
            : await leases.RenewAsync(new RenewLeaseArgs(epoch, options.Owning.LeaseDuration, SettledBefore()));
        if (current is null)
        {
            if (epoch != 0)
                GiveUp(epoch);
            askedAt = clock.GetTimestamp();
            current = await leases.OpenAsync(instance.Identity, options.Owning.LeaseDuration);
            Log.Opened(log, current.Epoch);
        }

        lease.Confirm(current.Epoch, askedAt);
        if (generation != 0 && generation != current.Generation)
            await MarkPurgedAsync();
        generation = current.Generation;
    }

    // Everything in memory belongs to whoever adopts it now; outcomes of calls under way still enter the books.
    private void GiveUp(int epoch)
    {
        lease.Lose();
        backlog.Clear();
        Log.Lost(log, epoch, open.Count);
    }

    // What the table does not hold any more was purged. The table is asked, because payments that came after the
    // purge are in the same queue.
    private async Task MarkPurgedAsync()
    {
        foreach (var page in open.Snapshot().Chunk(1_000))
        {
            var stored = await payments.FindAsync(Array.ConvertAll(page, payment => payment.Id));
            var known = stored.ToDictionary(row => row.CorrelationId, row => row.AcceptedAt);
            foreach (var payment in page)
                payment.Purged |= !known.TryGetValue(payment.Id, out var acceptedAt) || acceptedAt != payment.AcceptedAt;
        }
    }

    private async Task AdoptAllAsync()
    {
        await AdoptAsync(NobodysEpoch, Earliest, TimeSpan.Zero);
        foreach (var orphaned in await leases.OrphanedAsync())
            if (await AdoptAsync(orphaned.Epoch, orphaned.SettledBefore, TimeSpan.FromSeconds(orphaned.LapsedSeconds)))
                await leases.MarkAdoptedAsync(orphaned.Epoch);
    }

    /// <returns>Whether nothing is left to adopt there.</returns>
    private async Task<bool> AdoptAsync(int from, DateTime settledBefore, TimeSpan lapsed)
    {
        while (Math.Min(AdoptPageMax, Math.Min(DoubtsMax - doubts.Count, queue.Room)) is > 0 and var limit)
        {
            var page = await AdoptPageAsync(new AdoptArgs(from, lease.Epoch, settledBefore, limit));
            var doubtSince = clock.GetTimestamp() - (long)(lapsed.TotalSeconds * clock.TimestampFrequency);
            foreach (var row in page)
                Take(row, doubtSince);
            if (page.Count > 0)
                Log.Adopted(log, page.Count, from);
            if (page.Count < limit)
                return true;
        }

        return false;
    }

    private async Task<List<StoredPayment>> AdoptPageAsync(AdoptArgs page)
    {
        try
        {
            return await leases.AdoptAsync(page);
        }
        catch (Exception uncertain) when (uncertain is DbException or TimeoutException)
        {
            // The rows may be ours now without our knowing them. A new epoch adopts them with everything else.
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

    // Read before the renewal is sent: what is accepted meanwhile is newer than this.
    private DateTime SettledBefore()
    {
        var settledBefore = acceptances.Oldest();
        if (backlog.Oldest() is { } stored && stored < settledBefore)
            settledBefore = stored;
        if (open.Oldest() is { } oldest && oldest < settledBefore)
            settledBefore = oldest;
        return settledBefore;
    }

    private static partial class Log
    {
        [LoggerMessage(210, LogLevel.Information, "Epoch {Epoch} begins")]
        public static partial void Opened(ILogger log, int epoch);

        [LoggerMessage(211, LogLevel.Error, "Epoch {Epoch} was closed by another instance; {Count} payments are theirs now")]
        public static partial void Lost(ILogger log, int epoch, int count);

        [LoggerMessage(212, LogLevel.Warning, "{Count} payments adopted from epoch {Epoch}")]
        public static partial void Adopted(ILogger log, int count, int epoch);

        [LoggerMessage(213, LogLevel.Error, "PostgreSQL is away: {Reason}")]
        public static partial void DatabaseAway(ILogger log, string reason);

        [LoggerMessage(214, LogLevel.Information, "Epoch {Epoch} ends, {Count} payments are free for others, {Doubts} in doubt")]
        public static partial void Released(ILogger log, int epoch, int count, int doubts);

        [LoggerMessage(215, LogLevel.Warning, "Epoch {Epoch} ends without release, its lease will lapse: {Reason}")]
        public static partial void ReleaseFailed(ILogger log, int epoch, string reason);
    }
}

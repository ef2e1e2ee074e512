using System.Data.Common;
using Npgsql;
using PaymentGateway.Recording;

namespace PaymentGateway.Owning;

/// <summary>
/// Keeps this instance's lease, and has the books watched and orphans adopted each time that it is renewed.
/// One loop, so that no adoption falls between the reading of what is open and the renewal that tells it.
/// </summary>
internal sealed partial class LeaseKeeper(
    SchemaSetup schema, LeaseStore leases, Lease lease, BooksWatch books, OrphanAdoption adoption,
    InstanceLock instance, OpenPayments open, AcceptanceClock acceptances, StoredBacklog backlog,
    BrokenInserts broken, OwningOptions options, TimeProvider clock, ILogger<LeaseKeeper> log) : BackgroundService
{
    // After an outage of the database every lease has lapsed: the others get the time to renew theirs, too.
    private long steadySince = clock.GetTimestamp();
    private long lastTurn = clock.GetTimestamp();
    private bool schemaKnown;
    private bool away;

    /// <summary>
    /// Takes the first lease before the listener opens, when PostgreSQL is there; else goes on without.
    /// </summary>
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

        // What is held is listed before the lease is lost, as stations drop what they do not own any more; what of it
        // is in doubt is read afterwards, as no charge can begin then.
        var held = open.Snapshot();
        var before = SettledBefore();
        lease.Lose();
        var inDoubt = held.Where(payment => payment.InDoubt).Select(payment => payment.Id).ToArray();
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
            await lease.CheckSoon.WaitAsync(options.RenewInterval, stoppingToken);
            await TurnAsync();
        }
    }

    private async Task TurnAsync()
    {
        // A pause of this process or of the database counts as an outage, too.
        if (clock.GetElapsedTime(lastTurn) > options.LeaseDuration)
            steadySince = clock.GetTimestamp();
        lastTurn = clock.GetTimestamp();
        try
        {
            if (!schemaKnown)
            {
                await schema.EnsureAsync();
                schemaKnown = true;
            }

            await broken.LookAsync(await RenewAsync());
            await books.LookAsync();
            lease.Checked();
            await leases.CloseLapsedAsync(new CloseLeasesArgs(
                instance.IsProof ? instance.Identity : "", lease.Epoch,
                lease.IsHeld && clock.GetElapsedTime(steadySince) > options.LeaseDuration));
            await adoption.AdoptAllAsync();
            away = false;
        }
        catch (Exception gone) when (gone is not (OperationCanceledException or ConfigurationException))
        {
            // The schema may be another one when the server is back.
            steadySince = clock.GetTimestamp();
            schemaKnown &= gone is not PostgresException { SqlState: PostgresErrorCodes.UndefinedTable };
            if (!away)
                Log.DatabaseAway(log, gone.Message);
            away = true;
        }
    }

    /// <returns>Up to when the lease refuses what was uncertain; null when nothing was.</returns>
    private async Task<DateTime?> RenewAsync()
    {
        var askedAt = clock.GetTimestamp();
        var epoch = lease.Epoch;
        var uncertainUntil = backlog.UncertainUntil();
        if (epoch == 0 || !await leases.RenewAsync(new RenewLeaseArgs(
                epoch, options.LeaseDuration, SettledBefore(), uncertainUntil ?? DateTime.UnixEpoch)))
        {
            if (epoch != 0)
                GiveUp(epoch);
            askedAt = clock.GetTimestamp();
            epoch = await leases.OpenAsync(instance.Identity, options.LeaseDuration);
            Log.Opened(log, epoch);
        }

        lease.Confirm(epoch, askedAt);
        return uncertainUntil;
    }

    // Everything in memory belongs to whoever adopts it now; outcomes of calls under way still enter the books.
    private void GiveUp(int epoch)
    {
        lease.Lose();
        backlog.Clear();
        broken.Forget();
        Log.Lost(log, epoch, open.Count);
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

        [LoggerMessage(211, LogLevel.Error,
            "Epoch {Epoch} was closed by another instance; {Count} payments are theirs now")]
        public static partial void Lost(ILogger log, int epoch, int count);

        [LoggerMessage(213, LogLevel.Error, "PostgreSQL is away: {Reason}")]
        public static partial void DatabaseAway(ILogger log, string reason);

        [LoggerMessage(214, LogLevel.Information,
            "Epoch {Epoch} ends, {Count} payments are free for others, {Doubts} in doubt")]
        public static partial void Released(ILogger log, int epoch, int count, int doubts);

        [LoggerMessage(215, LogLevel.Warning, "Epoch {Epoch} ends without release, its lease will lapse: {Reason}")]
        public static partial void ReleaseFailed(ILogger log, int epoch, string reason);
    }
}

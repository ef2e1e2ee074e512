using System.Data.Common;
using PaymentGateway.Configuration;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Leasing;

/// <summary>
/// Keeps this instance's lease, and has the ledger watched and orphans adopted each time that it is renewed. These
/// duties may take longer than a renewal, and hang: the next renewal does not wait for them.
/// </summary>
internal sealed partial class LeaseKeeper(
    SchemaSetup schema, LeaseStore leases, Lease lease, LedgerWatch ledger, OrphanAdoption adoption,
    InstanceLock instance, UnsettledPayments unsettled, AcceptanceClock acceptances, StoredBacklog backlog,
    BrokenInserts broken, InstanceReader reader, LeasingOptions options, GatewayMetrics metrics, TimeProvider clock,
    EpochOpening opening, ILogger<LeaseKeeper> log) : BackgroundService
{
    private static readonly TimeSpan LeastWait = TimeSpan.FromMilliseconds(50);

    // After an outage of the database every lease has expired: the others get the time to renew theirs, too.
    private long _steadySince = clock.GetTimestamp();
    private long _lastKept = clock.GetTimestamp();
    private Task _duties = Task.CompletedTask;
    private bool _schemaKnown;
    private readonly OutageLog _outage = new();

    /// <summary>Takes the first lease before the listener opens, when PostgreSQL is there; else goes on.</summary>
    public override async Task StartAsync(CancellationToken cancellationToken)
    {
        await KeepAsync();
        await base.StartAsync(cancellationToken);
    }

    /// <summary>Closes the epoch and releases what it has not settled, for anyone to adopt at once.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        await base.StopAsync(cancellationToken);
        await Task.WhenAny(_duties, Task.Delay(Timeout.InfiniteTimeSpan, clock, cancellationToken));
        var epoch = lease.Epoch;
        if (epoch == PaymentStates.Nobody)
            return;

        // Listed before the lease is lost, as stages drop payments then. Doubt is read after: no charge can begin then.
        var held = unsettled.Snapshot();
        var mark = LowWaterMark();
        lease.Lose(epoch);
        var inDoubt = held.Where(payment => payment.InDoubt).Select(payment => payment.Id).ToArray();
        try
        {
            var released = await leases.ReleaseAsync(new ReleaseArgs(epoch, mark, inDoubt));
            if (released > 0)
                Log.Released(log, epoch, released, inDoubt.Length);
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            Log.ReleaseFailed(log, epoch, failed.Message);
        }
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            // From one beginning to the next: a renewal that hangs has its time, and another one the rest of the lease.
            var rest = options.RenewInterval - clock.GetElapsedTime(_lastKept);
            await lease.CheckSoon.WaitAsync(rest > LeastWait ? rest : LeastWait, stoppingToken);
            await KeepAsync();
        }
    }

    private async Task KeepAsync()
    {
        // A pause of this process or of the database counts as an outage, too.
        if (clock.GetElapsedTime(_lastKept) > options.LeaseDuration)
            _steadySince = clock.GetTimestamp();
        _lastKept = clock.GetTimestamp();
        try
        {
            if (!_schemaKnown)
            {
                await schema.EnsureAsync();
                _schemaKnown = true;
            }

            // Checked first: what the duties are told was read after the earlier ones had ended, which those who wait
            // for the next check count on.
            var areDone = _duties.IsCompleted;
            if (await RenewAsync() is { } renewal && areDone)
                _duties = DoDutiesAsync(lease.Epoch, renewal.Ledger, renewal.RefusedUntil);
            // Mostly they are done at once, and one that is asked for finds them done.
            await Task.WhenAny(_duties, Task.Delay(options.RenewInterval / 2, clock));
        }
        catch (Exception failed) when (failed is not (OperationCanceledException or ConfigurationException))
        {
            _steadySince = clock.GetTimestamp();
            Report(failed);
        }
    }

    /// <returns>Null when the epoch was not renewed.</returns>
    private async Task<(LedgerState Ledger, DateTime? RefusedUntil)?> RenewAsync()
    {
        var askedAt = clock.GetTimestamp();
        if (lease.Epoch == PaymentStates.Nobody)
        {
            var opened = await opening.OpenAsync();
            Log.Opened(log, opened);
            lease.Confirm(opened, askedAt);
            askedAt = clock.GetTimestamp();
        }

        var uncertainUntil = backlog.UncertainUntil();
        // The number first: an adoption that begins after the mark was read has a newer one. The epoch last: an
        // adoption that nobody knows the end of loses it before it lets go of the mark.
        var number = lease.NextNumber();
        var lowWaterMark = LowWaterMark();
        var usesFallback = lease.FallbackRequested;
        var epoch = lease.Epoch;
        var renewal = await leases.RenewAsync(new RenewalArgs(
            epoch, options.LeaseDuration, lowWaterMark, uncertainUntil ?? DateTime.UnixEpoch, number,
            instance.IsProof ? instance.Identity : "", clock.GetElapsedTime(_steadySince) > options.LeaseDuration,
            usesFallback, reader.Read().ToJson()));
        if (renewal.Renewed)
        {
            lease.Renewed(askedAt);
            if (usesFallback)
                lease.FallbackMarked(epoch);
            return (renewal.Ledger, uncertainUntil);
        }

        if (!renewal.IsOpen && epoch != PaymentStates.Nobody)
            GiveUp(epoch);
        lease.CheckSoon.Set();
        return null;
    }

    private async Task DoDutiesAsync(int epoch, LedgerState state, DateTime? refusedUntil)
    {
        try
        {
            await ledger.CheckAsync(state);
            lease.Checked();
            await broken.CheckAsync(epoch, refusedUntil);
            await adoption.AdoptAllAsync();
            if (_outage.Succeed())
                Log.DatabaseAvailable(log);
        }
        catch (Exception failed) when (failed is not OperationCanceledException)
        {
            Report(failed);
        }
    }

    private void Report(Exception failed)
    {
        // The schema may be another one when the server is back.
        _schemaKnown &= !SchemaSetup.IsOfOtherTables(failed);
        var level = _outage.Fail(LogLevel.Error);
        Log.DatabaseUnavailable(log, level, failed.Message);
    }

    // Everything in memory belongs to whoever adopts it now; outcomes of calls in flight still enter the ledger.
    private void GiveUp(int epoch)
    {
        lease.Lose(epoch);
        backlog.Clear();
        metrics.LeasesLost.Add(1);
        Log.Lost(log, epoch, unsettled.Count);
    }

    // Read before the renewal is sent: what is accepted meanwhile is newer than this. What is unsettled comes last, as
    // everything else ends there.
    private DateTime LowWaterMark() =>
        new[] { acceptances.Oldest(), backlog.Oldest(), adoption.Oldest(), unsettled.Oldest() }.Min()!.Value;

    private static partial class Log
    {
        [LoggerMessage(210, LogLevel.Information, "Epoch {Epoch} begins")]
        public static partial void Opened(ILogger log, int epoch);

        [LoggerMessage(211, LogLevel.Error,
            "Epoch {Epoch} was closed by another instance; {Count} payments are theirs now")]
        public static partial void Lost(ILogger log, int epoch, int count);

        [LoggerMessage(EventId = 213, Message = "PostgreSQL is unavailable: {Reason}")]
        public static partial void DatabaseUnavailable(ILogger log, LogLevel level, string reason);

        [LoggerMessage(219, LogLevel.Information, "PostgreSQL is available again")]
        public static partial void DatabaseAvailable(ILogger log);

        [LoggerMessage(214, LogLevel.Information,
            "Epoch {Epoch} ends, {Count} payments are released, {Doubts} of them in doubt")]
        public static partial void Released(ILogger log, int epoch, int count, int doubts);

        [LoggerMessage(215, LogLevel.Warning, "Epoch {Epoch} ends without release, its lease will expire: {Reason}")]
        public static partial void ReleaseFailed(ILogger log, int epoch, string reason);
    }
}

/// <summary>
/// Begins epochs, but not beside an instance that names other processors: an adopter charges a payment in doubt again,
/// and only the same processor stores it once.
/// </summary>
internal sealed class EpochOpening(LeaseStore leases, InstanceLock instance, GatewayOptions options)
{
    /// <returns>The new epoch.</returns>
    /// <exception cref="ConfigurationException">Another instance, whose lease is valid, names others.</exception>
    public async Task<int> OpenAsync()
    {
        var (defaultUrl, fallbackUrl) = (Text(options.Default.Url), Text(options.Fallback.Url));
        var epoch = await leases.OpenAsync(
            new OpenLeaseArgs(instance.Identity, options.Leasing.LeaseDuration, defaultUrl, fallbackUrl));
        // After the row is committed: of two instances that begin at once, at least one finds the other.
        var other = await leases.FindOtherProcessorsAsync(new OtherProcessorsArgs(
            epoch, instance.IsProof ? instance.Identity : "", defaultUrl, fallbackUrl));
        if (other is null)
            return epoch;

        await leases.CloseAsync(epoch);
        throw other.DefaultUrl == defaultUrl
            ? Wrong("Gateway:Processors:Fallback:BaseUrl", fallbackUrl, other.FallbackUrl, other.Instance)
            : Wrong("Gateway:Processors:Default:BaseUrl", defaultUrl, other.DefaultUrl, other.Instance);
    }

    // Without user name and password, because whoever reads the ledger reads it.
    private static string Text(Uri url) => url.GetComponents(UriComponents.HttpRequestUrl, UriFormat.UriEscaped);

    private static ConfigurationException Wrong(string key, string url, string otherUrl, string other) =>
        SettingsReader.Wrong(
            key, $"is {url}, and {other} runs on this ledger with {otherUrl} (stop all instances before a change)");
}

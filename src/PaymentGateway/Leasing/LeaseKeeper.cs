using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Renews this instance's lease, and does the <see cref="LeaseDuties"/> after each renewal. Neither the next renewal
/// nor the check of the ledger waits for an adoption that hangs.
/// </summary>
internal sealed partial class LeaseKeeper(
    SchemaSetup schema, InstanceEpochs epochs, LeaseDuties duties, Lease lease, LeasingOptions options,
    GatewayMetrics metrics, TimeProvider clock, ILogger<LeaseKeeper> log) : BackgroundService
{
    private static readonly TimeSpan LeastWait = TimeSpan.FromMilliseconds(50);

    // Since the last outage. After one every lease has expired, and the other instances need time to renew theirs.
    private long _steadySince = clock.GetTimestamp();
    private long _lastKept = clock.GetTimestamp();
    private long _lastBegun;
    private Task _adoption = Task.CompletedTask;
    private bool _schemaKnown;
    private bool _payersKnown = true;
    private readonly OutageLog _outage = new();

    /// <summary>Takes the first lease before the listener opens, if PostgreSQL is available.</summary>
    public override async Task StartAsync(CancellationToken cancellationToken)
    {
        await KeepAsync();
        await base.StartAsync(cancellationToken);
    }

    /// <summary>Closes the epoch and releases what it has not settled, for anyone to adopt at once.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        await base.StopAsync(cancellationToken);
        await Task.WhenAny(_adoption, Task.Delay(Timeout.InfiniteTimeSpan, clock, cancellationToken));
        var epoch = lease.Current;
        // Another instance has closed it, or will adopt its payments when the lease ends: nothing is left to release.
        if (epoch.HasEnded)
            return;

        try
        {
            var (released, inDoubt) = await epochs.ReleaseAsync(epoch);
            if (released > 0)
                Log.Released(log, epoch.Number, released, inDoubt);
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            Log.ReleaseFailed(log, epoch.Number, failed.Message);
        }
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (true)
        {
            // Without an epoch that goes on, payments wait for the next one. Each try may find one more connection that
            // broke in an outage.
            var epoch = lease.Current;
            var interval = epoch.IsSpoiled || epoch.HasEnded ? options.RenewInterval / 4 : options.RenewInterval;
            // Epochs begin with a pause between them, because an adoption that always breaks would spoil each at once.
            if (epoch.IsSpoiled && interval - clock.GetElapsedTime(_lastBegun) is var pause && pause > TimeSpan.Zero)
                await Task.Delay(pause, clock, stoppingToken);
            // Counted from the start of a renewal, so that after one that hangs another fits into the lease.
            var rest = interval - clock.GetElapsedTime(_lastKept);
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

            if (await RenewAsync() is { } renewal)
            {
                await duties.CheckLedgerAsync(renewal);
                if (renewal.Epoch.IsSpoiled)
                    return;

                if (!_payersKnown)
                {
                    // Before the call, because an outage may be reported while it waits.
                    _payersKnown = true;
                    await epochs.RegisterPayersAsync();
                }

                if (_adoption.IsCompleted)
                    _adoption = AdoptAsync(renewal);
            }

            // Most adoptions end at once; the next renewal then finds them done.
            await Task.WhenAny(_adoption, Task.Delay(options.RenewInterval / 2, clock));
        }
        catch (Exception failed) when (failed is not (OperationCanceledException or ConfigurationException))
        {
            _steadySince = clock.GetTimestamp();
            Report(failed);
        }
    }

    private async Task<Renewal?> RenewAsync()
    {
        if (lease.Current is { HasEnded: true } or { IsSpoiled: true })
            await BeginAsync();
        var renewal = await epochs.RenewAsync(
            clock.GetTimestamp(), closeExpired: clock.GetElapsedTime(_steadySince) > options.LeaseDuration);
        if (renewal is { Row.Renewed: true })
            return renewal;

        if (renewal is { Row.IsOpen: false, Epoch.HasEnded: false })
        {
            renewal.Epoch.End();
            NoteLost(renewal.Epoch);
        }

        lease.CheckSoon.Set();
        return null;
    }

    private async Task BeginAsync()
    {
        var before = lease.Current;
        var isLost = before.IsSpoiled && !before.HasEnded && await epochs.IsClosedAsync(before);
        // Read first, so that a change of the ledger after the first acceptance is noticed.
        var ledger = await duties.ReadLedgerAsync();
        var askedAt = clock.GetTimestamp();
        var opened = await epochs.OpenAsync();
        _lastBegun = askedAt;
        Log.Opened(log, opened);
        lease.Begin(opened, ledger, epochs.First, askedAt);
        if (isLost)
            NoteLost(before);
        else if (before.IsSpoiled)
            Log.Spoiled(log, before.Number, before.SpoiledBy!, before.Unsettled.Count);
    }

    private void NoteLost(Epoch epoch)
    {
        metrics.LeasesLost.Add(1);
        Log.Lost(log, epoch.Number, epoch.Unsettled.Count);
    }

    private async Task AdoptAsync(Renewal renewal)
    {
        try
        {
            await duties.AdoptAsync(renewal);
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
        // The server may have another schema when it is back, or no number of a payer.
        _payersKnown = false;
        _schemaKnown &= !SchemaSetup.IsOfOtherTables(failed);
        var level = _outage.Fail(LogLevel.Error);
        Log.DatabaseUnavailable(log, level, failed.Message);
    }

    private static partial class Log
    {
        [LoggerMessage(210, LogLevel.Information, "Epoch {Epoch} begins")]
        public static partial void Opened(ILogger log, int epoch);

        [LoggerMessage(211, LogLevel.Error,
            "Epoch {Epoch} was closed by another instance; its {Count} payments can be adopted")]
        public static partial void Lost(ILogger log, int epoch, int count);

        [LoggerMessage(217, LogLevel.Warning,
            "Epoch {Epoch} ended, because {Reason}; the next one takes its {Count} payments over")]
        public static partial void Spoiled(ILogger log, int epoch, string reason, int count);

        [LoggerMessage(EventId = 213, Message = "PostgreSQL is unavailable: {Reason}")]
        public static partial void DatabaseUnavailable(ILogger log, LogLevel level, string reason);

        [LoggerMessage(219, LogLevel.Information, "PostgreSQL is available again")]
        public static partial void DatabaseAvailable(ILogger log);

        [LoggerMessage(214, LogLevel.Information,
            "Epoch {Epoch} ends, {Count} payments are released, {Doubts} of them in doubt")]
        public static partial void Released(ILogger log, int epoch, int count, int doubts);

        [LoggerMessage(215, LogLevel.Warning,
            "Epoch {Epoch} ends without release; its payments wait until its lease has expired: {Reason}")]
        public static partial void ReleaseFailed(ILogger log, int epoch, string reason);
    }
}

/// <summary>The work that follows each renewal.</summary>
internal sealed class LeaseDuties(LedgerWatch ledger, OrphanAdoption adoption, Lease lease)
{
    public Task<LedgerState> ReadLedgerAsync() => ledger.ReadAsync();

    public async Task CheckLedgerAsync(Renewal renewal)
    {
        await ledger.CheckAsync(renewal.Epoch, renewal.Row.Ledger);
        lease.NoteChecked();
    }

    public Task AdoptAsync(Renewal renewal) => adoption.AdoptAllAsync(renewal.Former);
}

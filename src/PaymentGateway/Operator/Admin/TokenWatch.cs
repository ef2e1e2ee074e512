using Microsoft.Extensions.Configuration.KeyPerFile;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Gives each payer a number in the ledger before a token of it comes into force, and reads the tokens in files of the
/// secrets' directory again, so that they change without a restart.
/// </summary>
internal sealed partial class TokenWatch(
    AdminTokens tokens, PayerStore payers, OperatorLog operatorLog, GatewayOptions options, TimeProvider clock,
    IConfiguration? configuration = null) : BackgroundService
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);

    // No other setting is read after the start, so it may be read again in its place.
    private readonly KeyPerFileConfigurationProvider? _files = (configuration as IConfigurationRoot)?.Providers
        .OfType<KeyPerFileConfigurationProvider>().FirstOrDefault();

    private readonly ILogger _log = operatorLog.Lines;

    // Files are written one after another, so only what two readings agree on comes into force: a token without the
    // file of its role would be a reader's.
    private AdminToken[] _read = [];
    private string? _fault;

    /// <summary>Registers payers before the listener opens, if PostgreSQL is available.</summary>
    public override async Task StartAsync(CancellationToken cancellationToken)
    {
        if (tokens.AreNeeded && !tokens.PayersAreNeeded)
            Log.EverybodyPays(_log);
        await RegisterAsync(tokens.All);
        await base.StartAsync(cancellationToken);
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (!await RegisterAsync(tokens.All) || _files is not null)
        {
            await Task.Delay(Interval, clock, stoppingToken);
            if (_files is not null)
                await ReadAgainAsync(_files);
        }
    }

    private async Task ReadAgainAsync(KeyPerFileConfigurationProvider files)
    {
        try
        {
            files.Load();
            var before = _read;
            _read = [.. AdminToken.Read(
                new SettingsReader(configuration!), options.Instance.Urls, [.. tokens.All, .. before])];
            if (_read.SequenceEqual(before) && !_read.SequenceEqual(tokens.All))
                await ReplaceAsync(_read);
            _fault = null;
        }
        catch (Exception wrong) when (wrong is not OperationCanceledException)
        {
            if (_fault != wrong.Message)
                Log.Kept(_log, wrong.Message);
            _fault = wrong.Message;
        }
    }

    private async Task ReplaceAsync(AdminToken[] read)
    {
        var hasPayers = Array.Exists(read, static token => token.Payer is not null);
        if (read.Length == 0 || (tokens.PayersAreNeeded && !hasPayers))
            throw new ConfigurationException(
                "Gateway__Admin__Tokens", "the last token is gone, which would let everybody in (a restart does)");
        // Otherwise a payer whose file of the role is gone would read what all have paid.
        if (Array.Find(read, token => tokens.All.Any(other => other.Secret == token.Secret && other.Role != token.Role))
            is { } changed)
            throw new ConfigurationException(
                "Gateway__Admin__Tokens", $"a token of {changed.Name} has another role (a restart takes it)");
        if (!await RegisterAsync(read))
            return;

        var (added, gone) = (read.Except(tokens.All).Count(), tokens.All.Except(read).Count());
        tokens.Replace(read);
        Log.Replaced(_log, added, gone, read.Length);
    }

    /// <returns>Whether all payers have their numbers; PostgreSQL may be unavailable.</returns>
    private async Task<bool> RegisterAsync(AdminToken[] all)
    {
        KnownPayer[] missing =
            [.. all.Select(token => token.Payer).OfType<KnownPayer>().Where(payer => payer.Number == 0)];
        try
        {
            if (missing.Length > 0)
                await payers.RegisterAsync(missing);
            return true;
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            // The keeper of the lease logs that PostgreSQL is unavailable. Payments get 503 meanwhile.
            return false;
        }
    }

    private static partial class Log
    {
        [LoggerMessage(12, LogLevel.Information,
            "Tokens changed: {Added} are new, {Gone} are gone, {Count} are in force")]
        public static partial void Replaced(ILogger log, int added, int gone, int count);

        [LoggerMessage(15, LogLevel.Warning, "Everybody who reaches a listener may pay: no token has the role Pay")]
        public static partial void EverybodyPays(ILogger log);

        [LoggerMessage(13, LogLevel.Error, "Failed to read the tokens again, the earlier ones stay in force: {Reason}")]
        public static partial void Kept(ILogger log, string reason);
    }
}

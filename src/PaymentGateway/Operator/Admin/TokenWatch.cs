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
    private string? _fault, _told;

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
        var before = _read;
        string? fault = null;
        try
        {
            files.Load();
            AdminToken[] known = [.. tokens.All, .. before];
            var settings = new SettingsReader(configuration!);
            _read = Checked([.. AdminToken.Read(settings, options.Instance.Urls, known)], known);
        }
        catch (Exception wrong) when (wrong is not OperationCanceledException)
        {
            fault = wrong.Message;
            _read = StillGiven();
        }

        if (fault == _fault && fault != _told)
        {
            if (fault is null)
                Log.Right(_log);
            else
                Log.Kept(_log, fault);
            _told = fault;
        }

        _fault = fault;
        if (_read.SequenceEqual(before) && !_read.SequenceEqual(tokens.All))
        {
            // Without a number, while PostgreSQL is unavailable, a payer is answered 503.
            await RegisterAsync(_read);
            var (added, gone) = (_read.Except(tokens.All).Count(), tokens.All.Except(_read).Count());
            tokens.Replace(_read);
            Log.Replaced(_log, added, gone, _read.Length);
        }
    }

    private AdminToken[] Checked(AdminToken[] read, AdminToken[] known)
    {
        if (OpensDoor(read))
            throw new ConfigurationException(
                "Gateway__Admin__Tokens", "the last token is gone, which would let everybody in (a restart does)");
        // A file that is gone may not give more than it did. Without that of its role, a payer would read what all have
        // paid; without that of its name it would be another payer; without that of its end it would never expire.
        if (Array.Find(read, token => known.Any(other => other.Secret == token.Secret && (other.Role != token.Role
            || other.Payer != token.Payer || (other.Until is not null && token.Until is null)))) is { } changed)
            throw new ConfigurationException(
                "Gateway__Admin__Tokens",
                $"a token of {changed.Name} has another role or payer, or no end any more (a restart takes it)");
        return read;
    }

    // While a file is wrong, each token goes on as it was, but for those whose own files are gone: somebody who deletes
    // a token that was stolen relies on it.
    private AdminToken[] StillGiven()
    {
        AdminToken[] still = [.. tokens.All.Where(token => configuration![token.Key!] is not null)];
        return OpensDoor(still)
            ? [.. tokens.All.Where(token => token.Payer is not null == tokens.PayersAreNeeded || still.Contains(token))]
            : still;
    }

    private bool OpensDoor(AdminToken[] read) => (tokens.AreNeeded && read.Length == 0)
        || (tokens.PayersAreNeeded && !Array.Exists(read, static token => token.Payer is not null));

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
        catch (Exception failed) when (failed is not OperationCanceledException)
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

        [LoggerMessage(13, LogLevel.Error,
            "Failed to read the tokens again, those that still have their files stay in force: {Reason}")]
        public static partial void Kept(ILogger log, string reason);

        [LoggerMessage(16, LogLevel.Information, "The files of the tokens are right again")]
        public static partial void Right(ILogger log);
    }
}

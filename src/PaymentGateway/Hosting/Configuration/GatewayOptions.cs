namespace PaymentGateway.Hosting.Configuration;

/// <summary>Every setting and every limit, read once at start; docs/configuration.md has the names.</summary>
internal sealed record GatewayOptions(
    InstanceOptions Instance, OperatorOptions Operators, ProcessorsOptions Processors, LedgerOptions Ledger,
    IntakeOptions Intake, RoutingOptions Routing, SettlingOptions Settling, LeasingOptions Leasing)
{
    /// <summary>The largest request body, bytes; a payment needs about 80.</summary>
    public const int BodyBytesMax = 4096;

    /// <summary>The User-Agent of every call, because common firewalls refuse a call without one.</summary>
    public static readonly string UserAgent =
        $"PaymentGateway/{typeof(GatewayOptions).Assembly.GetName().Version!.ToString(3)}";

    /// <exception cref="ConfigurationException">A setting is missing or wrong.</exception>
    public static GatewayOptions Read(SettingsReader settings)
    {
        var instance = InstanceOptions.Read(settings);
        var settling = SettlingOptions.Read(settings);
        var options = new GatewayOptions(
            instance, OperatorOptions.Read(settings, instance.Urls), ProcessorsOptions.Read(settings, settling),
            LedgerOptions.Read(settings), IntakeOptions.Read(settings), RoutingOptions.Read(settings),
            settling, LeasingOptions.Read(settings));
        ReadSecretsDirectory(settings);
        return options;
    }

    /// <summary>The directory with a file for each setting, named after it; null for none.</summary>
    public static string? ReadSecretsDirectory(SettingsReader settings) =>
        settings.OptionalText("Gateway:Secrets:Directory");
}

internal sealed record InstanceOptions(string Name, ListenUrls Urls, LogFormat LogFormat)
{
    public static InstanceOptions Read(SettingsReader settings) => new(
        settings.OptionalText("Gateway:Instance:Name") ?? Environment.MachineName, ListenUrls.Read(settings),
        settings.Choice("Gateway:Logging:Format", LogFormat.Text));
}

/// <summary>Text is for people; Json is for programs, one object a line (docs/operations.md#log-events).</summary>
internal enum LogFormat
{
    Text,
    Json,
}

/// <summary>Permissions of callers; without any token an operator's calls are open.</summary>
internal sealed record OperatorOptions(
    IReadOnlyList<AdminToken> Tokens, Purger Purger, LookUp LookUp, Readers? Summary, Readers? Docs, Readers? OpenApi)
{
    public static OperatorOptions Read(SettingsReader settings, ListenUrls urls)
    {
        var tokens = AdminToken.Read(settings, urls);
        var tokenless = settings.Choice("Gateway:Admin:WithoutToken", Tokenless.Loopback);
        if (tokens.Count == 0 && tokenless == Tokenless.Loopback)
            urls.RequireLoopback();
        return new OperatorOptions(
            tokens, settings.Choice("Gateway:Admin:Purge", Purger.Operator),
            settings.Choice("Gateway:Admin:LookUp", LookUp.Token),
            settings.OptionalChoice<Readers>("Gateway:Admin:Summary"),
            settings.OptionalChoice<Readers>("Gateway:Admin:Docs"),
            settings.OptionalChoice<Readers>("Gateway:Admin:OpenApi"));
    }
}

/// <summary>
/// Whose POST /purge-payments is answered: an operator's, on the listeners of Gateway__Admin__Urls; or everyone's, on
/// every listener, because the challenge purges where it pays (contract.md). Either needs a token where one is set.
/// </summary>
internal enum Purger
{
    Operator,
    Everyone,
}

/// <summary>
/// Whom something that everybody may read is shown to. Where it is not set, that is everyone as long as no token pays,
/// and operators then.
/// </summary>
internal enum Readers
{
    Everyone,
    Payers,
    Operators,
    Nobody,
}

/// <summary>
/// Callers that may look a payment up by its id: holders of a token, where one is set, or everyone while no token pays.
/// </summary>
internal enum LookUp
{
    Token,
    Everyone,
}

/// <param name="All">In order of their fees, and of their names where these are equal.</param>
/// <param name="ReconciliationRate">Calls per second of a reconciliation, at all processors together.</param>
internal sealed record ProcessorsOptions(IReadOnlyList<ProcessorOptions> All, int ReconciliationRate)
{
    private const int Max = 8;
    private const string Key = "Gateway:Processors";

    /// <summary>The processors that may be charged, in the same order.</summary>
    public IReadOnlyList<ProcessorOptions> Enabled { get; } = All.Where(one => one.IsEnabled).ToList();

    public string[] Names { get; } = All.Select(one => one.Processor.Name).ToArray();

    /// <summary>False: this instance makes no call as an administrator.</summary>
    public bool CanReconcile => All[0].AdminToken is not null;

    public static ProcessorsOptions Read(SettingsReader settings, SettlingOptions settling)
    {
        var all = settings.Names(Key).Select(
            name => ProcessorOptions.Read(settings, $"{Key}:{name}", name, settling)).ToList();
        all.Sort(static (one, other) => one.Processor.Fee != other.Processor.Fee
            ? one.Processor.Fee.CompareTo(other.Processor.Fee)
            : string.CompareOrdinal(one.Processor.Name, other.Processor.Name));
        var options = new ProcessorsOptions(all, settings.Count("Gateway:Reconciling:MaxRate", 300, 100, 100_000));
        if (options.Enabled.Count == 0 || all.Count > Max)
            throw SettingsReader.Wrong(
                Key, $"must name 1 to {Max} processors, one of them enabled: Gateway__Processors__<name>__BaseUrl");
        foreach (var same in all.GroupBy(one => one.Url).Where(same => same.Count() > 1))
            throw SettingsReader.Wrong($"{Key}:{same.Last().Processor}:BaseUrl", "is another processor's");
        if (all.Find(one => one.AdminToken is not null == !options.CanReconcile) is { } other)
            throw SettingsReader.Wrong(
                $"{Key}:{(options.CanReconcile ? other : all[0]).Processor}:AdminToken",
                "is required beside the other processors'");

        return options;
    }
}

/// <param name="AdminToken">The token of its administration; null where reconciliation is off.</param>
/// <param name="IsEnabled">False: no new charges; payments that may be there are still looked up.</param>
/// <param name="CallTimeout">From the start of a call to the last byte of its answer, connecting included.</param>
/// <param name="InDoubtHorizon">A 404 after this time proves that no earlier call will be stored.</param>
internal sealed record ProcessorOptions(
    Processor Processor, Uri Url, string? AdminToken, bool IsEnabled, int MaxConcurrency, TimeSpan CallTimeout,
    TimeSpan InDoubtHorizon)
{
    /// <param name="own">The key with the name as it was given.</param>
    /// <param name="settling">The defaults for what is not set here.</param>
    public static ProcessorOptions Read(SettingsReader settings, string own, string given, SettlingOptions settling)
    {
        var name = given.ToLowerInvariant();
        if (name.Length == 0 || !name.All(char.IsAsciiLetter))
            throw SettingsReader.Wrong(own, $"'{given}' is no word of the letters a to z");

        var url = settings.HttpUrl($"{own}:BaseUrl");
        // The defaults are the challenge's fees.
        var fee = settings.Fraction($"{own}:Fee", name == "default" ? 0.05m : name == "fallback" ? 0.15m : null);
        var options = new ProcessorOptions(
            new Processor(name, fee), url, settings.HeaderValue($"{own}:AdminToken"),
            settings.Flag($"{own}:Enabled", true),
            settings.Count($"{own}:MaxConcurrency", settling.MaxConcurrency, 1, 700),
            settings.OptionalDuration($"{own}:CallTimeout", "100ms", "5m") ?? settling.CallTimeout,
            settings.OptionalDuration($"{own}:InDoubtHorizon", "100ms", "60m") ?? settling.InDoubtHorizon);
        // Otherwise a dead owner's call could be stored after the 404 that released its payment.
        if (options.InDoubtHorizon < options.CallTimeout)
            throw SettingsReader.Wrong(
                (options.InDoubtHorizon, options.CallTimeout) == (settling.InDoubtHorizon, settling.CallTimeout)
                    ? "Gateway:Settling:InDoubtHorizon"
                    : $"{own}:InDoubtHorizon", "must be at least the CallTimeout beside it");

        return options;
    }
}

/// <param name="Retention">How long a settled payment is kept before only totals are; null: for ever.</param>
internal sealed record LedgerOptions(
    string ConnectionString, bool Durable, TimeSpan? Retention, RecordingOptions Recording)
{
    public static LedgerOptions Read(SettingsReader settings) => new(
        settings.Required("ConnectionStrings:Ledger"),
        settings.Choice("Gateway:Storage:Profile", StorageProfile.Durable) == StorageProfile.Durable,
        settings.OptionalDuration("Gateway:Ledger:Retention", "1d", "3650d"), RecordingOptions.Read(settings));
}

/// <summary>
/// Unlogged tables are fast, but a crash of the database empties them; durable ones keep all that was acknowledged.
/// </summary>
internal enum StorageProfile
{
    Unlogged,
    Durable,
}

/// <param name="StoreTimeout">How long a client may wait for its row before it gets 503.</param>
/// <param name="Linger">How long payments linger at most in a burst, before they are stored.</param>
internal sealed record IntakeOptions(
    int MaxWaiting, int MaxBatch, TimeSpan StoreTimeout, TimeSpan Linger, int QueueCapacity)
{
    /// <summary>How many payments are loaded at once. No setting.</summary>
    public int BacklogPage { get; init; } = 1_000;

    public static IntakeOptions Read(SettingsReader settings) => new(
        settings.Count("Gateway:Intake:MaxWaiting", 2_000, 1, 100_000),
        settings.Count("Gateway:Intake:MaxBatch", 500, 1, 5_000),
        settings.Duration("Gateway:Intake:StoreTimeout", "1.5s", "50ms", "2s"),
        settings.Duration("Gateway:Intake:Linger", "3ms", "0s", "50ms"),
        settings.Count("Gateway:Intake:QueueCapacity", 20_000, 1, 1_000_000));
}

/// <summary>docs/routing.md says how a payment finds its processor.</summary>
/// <param name="FallbackAfter">How long a payment waits at most for a cheaper processor that fails.</param>
/// <param name="MaxLatency">Above it a processor is too slow; the audit closes its window at 1.5 s.</param>
/// <param name="ProbeInterval">The pause between two probes of a failing processor.</param>
/// <param name="HealthInterval">Between two health calls of all instances; the contract's window is 5 s.</param>
internal sealed record RoutingOptions(
    TimeSpan FallbackAfter, TimeSpan MaxLatency, TimeSpan ProbeInterval, TimeSpan HealthInterval)
{
    /// <summary>The age at which a health report no longer counts, because the next one is missing.</summary>
    public TimeSpan ReportOverdueAfter => HealthInterval * 2;

    public static RoutingOptions Read(SettingsReader settings) => new(
        settings.Duration("Gateway:Routing:FallbackAfter", "10s", "0s", "1440m"),
        settings.Duration("Gateway:Routing:MaxLatency", "1.2s", "1ms", "60s"),
        settings.Duration("Gateway:Routing:ProbeInterval", "0.5s", "0.5s", "60s"),
        settings.Duration("Gateway:Routing:HealthInterval", "5.2s", "5s", "10m"));
}

/// <param name="Linger">How long outcomes linger at most: nobody waits, and one statement costs less than many.</param>
internal sealed record RecordingOptions(TimeSpan Linger, int MaxBatch, int MaxBuffered)
{
    public static RecordingOptions Read(SettingsReader settings) => new(
        settings.Duration("Gateway:Recording:Linger", "50ms", "0s", "1s"),
        settings.Count("Gateway:Recording:MaxBatch", 1_000, 1, 10_000),
        settings.Count("Gateway:Recording:MaxBuffered", 20_000, 1, 1_000_000));
}

internal sealed record LeasingOptions(TimeSpan LeaseDuration, TimeSpan RenewInterval)
{
    /// <summary>How many payments an adoption takes at most. No setting.</summary>
    public int AdoptionPage { get; init; } = 500;

    /// <summary>The same of this instance's former epoch, whose payments are in memory already. No setting.</summary>
    public int TakeOverPage { get; init; } = 2_500;

    /// <summary>How many payments it reads at most to find the unsettled ones. No setting.</summary>
    public int RowsMax { get; init; } = RowsMaxDefault;

    public const int RowsMaxDefault = 10_000;

    public static LeasingOptions Read(SettingsReader settings)
    {
        var options = new LeasingOptions(
            settings.Duration("Gateway:Leasing:LeaseDuration", "3s", "500ms", "5m"),
            settings.Duration("Gateway:Leasing:RenewInterval", "1s", "100ms", "1m"));
        if (options.RenewInterval * 2 > options.LeaseDuration)
            throw SettingsReader.Wrong(
                "Gateway:Leasing:RenewInterval", "must be at most half of Gateway__Leasing__LeaseDuration");

        return options;
    }
}

/// <param name="CallTimeout">From the start of a call to the last byte of its answer, connecting included.</param>
/// <param name="Linger">How long charges linger when none waits, so that they begin together.</param>
/// <param name="MaxRate">How many charges may begin in a second, because acceptances need CPU too.</param>
/// <param name="InDoubtHorizon">A 404 after this time proves that no earlier call will be stored.</param>
internal sealed record SettlingOptions(
    TimeSpan CallTimeout, TimeSpan ConnectTimeout, TimeSpan Linger, int MaxConcurrency, int MaxRate,
    int LookupConcurrency, TimeSpan InDoubtHorizon, TimeSpan DrainTimeout)
{
    /// <summary>
    /// A processor with this many payments in doubt gets no charge until look-ups have resolved some, because each
    /// doubt takes memory and repeats its look-up. No setting.
    /// </summary>
    public int DoubtsMax { get; init; } = 8_000;

    public static SettlingOptions Read(SettingsReader settings) =>
        new(
            settings.Duration("Gateway:Settling:CallTimeout", "10s", "100ms", "5m"),
            settings.Duration("Gateway:Settling:ConnectTimeout", "2s", "50ms", "1m"),
            settings.Duration("Gateway:Settling:Linger", "50ms", "0s", "200ms"),
            settings.Count("Gateway:Settling:MaxConcurrency", 256, 1, 700),
            settings.Count("Gateway:Settling:MaxRate", 2_000, 100, 1_000_000),
            settings.Count("Gateway:Settling:LookupConcurrency", 16, 1, 200),
            settings.Duration("Gateway:Settling:InDoubtHorizon", "15s", "100ms", "60m"),
            settings.Duration("Gateway:Settling:DrainTimeout", "5s", "0s", "5m"));
}

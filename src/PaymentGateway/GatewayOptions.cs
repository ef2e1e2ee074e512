namespace PaymentGateway;

/// <summary>Every setting and every limit, read once at start. README has the table of the environment names.</summary>
internal sealed record GatewayOptions(
    string Ledger,
    string InstanceName,
    string? AdminToken,
    bool Durable,
    Uri DefaultUrl,
    Uri FallbackUrl,
    IntakeOptions Intake,
    RoutingOptions Routing,
    SettlingOptions Settling,
    RecordingOptions Recording,
    OwningOptions Owning)
{
    /// <summary>The largest request body, bytes; a payment needs about 80.</summary>
    public const int BodyBytesMax = 4096;

    /// <summary>Reads and validates all settings.</summary>
    /// <exception cref="ConfigurationException">A setting is missing, wrong or unknown; it names the setting.</exception>
    public static GatewayOptions Read(IConfiguration configuration)
    {
        var settings = new SettingsReader(configuration, "Gateway");
        var options = new GatewayOptions(
            settings.Required("ConnectionStrings:Ledger"),
            settings.Text("Gateway:Instance:Name", Environment.MachineName),
            settings.OptionalText("Gateway:Admin:Token"),
            settings.Choice("Gateway:Storage:Profile", StorageProfile.Unlogged) == StorageProfile.Durable,
            settings.HttpUrl("Gateway:Processors:Default:BaseUrl"),
            settings.HttpUrl("Gateway:Processors:Fallback:BaseUrl"),
            IntakeOptions.Read(settings),
            RoutingOptions.Read(settings),
            SettlingOptions.Read(settings),
            RecordingOptions.Read(settings),
            OwningOptions.Read(settings));
        settings.RefuseUnknown();
        return options;
    }

    /// <summary>Where <paramref name="processor"/> listens.</summary>
    public Uri UrlOf(Processor processor) => processor == Processor.Default ? DefaultUrl : FallbackUrl;
}

/// <summary>What PostgreSQL keeps over its own crash.</summary>
internal enum StorageProfile
{
    /// <summary>UNLOGGED tables: fast, empty after a crash of the database.</summary>
    Unlogged,

    /// <summary>Logged tables: nothing acknowledged is lost over a crash of the database.</summary>
    Durable,
}

/// <summary>When a payment is acknowledged (architecture.md, 3).</summary>
internal enum Acknowledge
{
    /// <summary>When its row is committed.</summary>
    Stored,

    /// <summary>As soon as it is in memory; a crash loses what was not yet written.</summary>
    Received,
}

/// <summary>How payments are taken in.</summary>
/// <param name="StoreTimeout">How long a client may wait for its row before it gets 503.</param>
/// <param name="ReceivedGather">How long received payments gather before they are written.</param>
internal sealed record IntakeOptions(
    Acknowledge Acknowledge, int MaxWaiting, int MaxBatch, int MaxBatchesInFlight, TimeSpan StoreTimeout,
    TimeSpan ReceivedGather, int QueueCapacity)
{
    public static IntakeOptions Read(SettingsReader settings) => new(
        settings.Choice("Gateway:Intake:Acknowledge", Acknowledge.Stored),
        settings.Count("Gateway:Intake:MaxWaiting", 2_000, 1, 100_000),
        settings.Count("Gateway:Intake:MaxBatch", 500, 1, 5_000),
        settings.Count("Gateway:Intake:MaxBatchesInFlight", 2, 1, 8),
        settings.Duration("Gateway:Intake:StoreTimeout", TimeSpan.FromSeconds(1.8), TimeSpan.FromMilliseconds(50), TimeSpan.FromSeconds(2)),
        settings.Duration("Gateway:Intake:ReceivedGather", TimeSpan.FromMilliseconds(20), TimeSpan.Zero, TimeSpan.FromSeconds(1)),
        settings.Count("Gateway:Intake:QueueCapacity", 20_000, 1, 1_000_000));
}

/// <summary>Which processor a payment prefers (architecture.md, 4).</summary>
internal enum RoutingPolicy
{
    /// <summary>Default only, until a payment has waited for its patience.</summary>
    Cheapest,

    /// <summary>Whichever is expected to answer sooner.</summary>
    Fastest,

    /// <summary>Default, unless its outage has lasted so long that it will hardly end within the patience.</summary>
    Balanced,
}

/// <summary>How payments find their processor.</summary>
/// <param name="Patience">How long after its acceptance a payment waits for the cheap processor.</param>
/// <param name="MaxLatency">Above it a processor is too slow: the books agree over a closed window only under 1.5 s.</param>
/// <param name="TrialInterval">How long a processor that fails is left alone between two trial payments.</param>
/// <param name="HealthInterval">Between two health calls of all instances together; the contract's window is 5 s.</param>
internal sealed record RoutingOptions(
    RoutingPolicy Policy, TimeSpan Patience, TimeSpan MaxLatency, TimeSpan TrialInterval, TimeSpan HealthInterval)
{
    public static RoutingOptions Read(SettingsReader settings) => new(
        settings.Choice("Gateway:Routing:Policy", RoutingPolicy.Cheapest),
        settings.Duration("Gateway:Routing:Patience", TimeSpan.FromSeconds(30), TimeSpan.Zero, TimeSpan.FromDays(1)),
        settings.Duration("Gateway:Routing:MaxLatency", TimeSpan.FromSeconds(1.2), TimeSpan.FromMilliseconds(1), TimeSpan.FromSeconds(60)),
        settings.Duration("Gateway:Routing:TrialInterval", TimeSpan.FromSeconds(0.5), TimeSpan.FromSeconds(0.5), TimeSpan.FromSeconds(60)),
        settings.Duration("Gateway:Routing:HealthInterval", TimeSpan.FromSeconds(5.2), TimeSpan.FromSeconds(5), TimeSpan.FromMinutes(10)));
}

/// <summary>How payments are charged and how doubt is resolved.</summary>
/// <param name="InDoubtHorizon">After it, a look-up that says 404 means that no earlier call can be stored any more.</param>
/// <param name="ParkAfter">In doubt for longer, a payment is set aside for an operator.</param>
internal sealed record SettlingOptions(
    TimeSpan CallTimeout, TimeSpan ConnectTimeout, int MaxConcurrency, int LookupConcurrency,
    TimeSpan InDoubtHorizon, TimeSpan ParkAfter, TimeSpan DrainTimeout)
{
    public static SettlingOptions Read(SettingsReader settings) => new(
        settings.Duration("Gateway:Settling:CallTimeout", TimeSpan.FromSeconds(10), TimeSpan.FromMilliseconds(100), TimeSpan.FromMinutes(5)),
        settings.Duration("Gateway:Settling:ConnectTimeout", TimeSpan.FromSeconds(2), TimeSpan.FromMilliseconds(50), TimeSpan.FromMinutes(1)),
        settings.Count("Gateway:Settling:MaxConcurrency", 256, 1, 700),
        settings.Count("Gateway:Settling:LookupConcurrency", 16, 1, 200),
        settings.Duration("Gateway:Settling:InDoubtHorizon", TimeSpan.FromSeconds(15), TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1)),
        settings.Duration("Gateway:Settling:ParkAfter", TimeSpan.FromMinutes(10), TimeSpan.FromSeconds(1), TimeSpan.FromDays(7)),
        settings.Duration("Gateway:Settling:DrainTimeout", TimeSpan.FromSeconds(5), TimeSpan.Zero, TimeSpan.FromMinutes(5)));
}

/// <summary>How outcomes are written.</summary>
/// <param name="Gather">How long outcomes gather: nobody waits for them, and one statement is cheaper than many.</param>
internal sealed record RecordingOptions(TimeSpan Gather, int MaxBatch, int MaxBuffered)
{
    public static RecordingOptions Read(SettingsReader settings) => new(
        settings.Duration("Gateway:Recording:Gather", TimeSpan.FromMilliseconds(20), TimeSpan.Zero, TimeSpan.FromSeconds(1)),
        settings.Count("Gateway:Recording:MaxBatch", 1_000, 1, 10_000),
        settings.Count("Gateway:Recording:MaxBuffered", 20_000, 1, 1_000_000));
}

/// <summary>How payments keep an owner.</summary>
internal sealed record OwningOptions(TimeSpan LeaseDuration, TimeSpan RenewInterval)
{
    public static OwningOptions Read(SettingsReader settings)
    {
        var options = new OwningOptions(
            settings.Duration("Gateway:Owning:LeaseDuration", TimeSpan.FromSeconds(3), TimeSpan.FromMilliseconds(500), TimeSpan.FromMinutes(5)),
            settings.Duration("Gateway:Owning:RenewInterval", TimeSpan.FromSeconds(1), TimeSpan.FromMilliseconds(100), TimeSpan.FromMinutes(1)));
        if (options.RenewInterval * 2 > options.LeaseDuration)
            throw SettingsReader.Wrong("Gateway:Owning:RenewInterval", "must be at most half of Gateway__Owning__LeaseDuration");

        return options;
    }
}

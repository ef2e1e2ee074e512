using System.Collections;

namespace PaymentGateway.Tools.Running;

/// <summary>
/// The variables of `make help`, with defaults for those that are not set. All others go to the parts as they are.
/// </summary>
public sealed class SystemSettings
{
    private const string GatewayPrefix = "Gateway__";

    // What a later start of one part takes over when its caller does not say it again.
    private static readonly string[] Saved =
    [
        "PORT", "PROCESSORS", "DEFAULT_PORT", "FALLBACK_PORT", "DEFAULT_URL", "FALLBACK_URL", "DEFAULT_FEE",
        "FALLBACK_FEE", "PROFILE", "LEDGER", "MULTIPLEXING", "POOL", "TOKEN", "ADMIN_PORT",
        "GATEWAY_BIN", "SIMULATOR_BIN",
        "PG_BIN", "PG_ARGS", "FRESH", "READY_SECONDS", "LIMITS",
    ];

    private readonly Dictionary<string, string> _variables;

    private SystemSettings(IEnumerable<KeyValuePair<string, string>> variables)
    {
        _variables = new Dictionary<string, string>(variables);
        if (this["PROFILE"] is not (null or "unlogged" or "durable"))
            throw new ToolException($"PROFILE is '{this["PROFILE"]}'; it may be unlogged or durable");
        if (this["LIMITS"] is not (null or "0" or "1"))
            throw new ToolException($"LIMITS is '{this["LIMITS"]}'; it may be 1, or 0 as when unset");
    }

    /// <summary>The whole environment for a part that is started with these settings.</summary>
    public IReadOnlyDictionary<string, string> Variables => _variables;

    public string RunDirectory => Path.GetFullPath(this["RUN_DIR"] ?? Repository.PathOf(".run"), Repository.Root);

    public string? Framework => this["FRAMEWORK"];

    public int Port => Number("PORT", 9999);

    public int DefaultPort => Number("DEFAULT_PORT", 8001);

    public int FallbackPort => Number("FALLBACK_PORT", 8002);

    /// <summary>Where clients pay.</summary>
    public string Url => Local(Port);

    /// <summary>The default processor: the caller's own, or our simulator.</summary>
    public string DefaultUrl => this["DEFAULT_URL"] ?? Local(DefaultPort);

    public string FallbackUrl => this["FALLBACK_URL"] ?? Local(FallbackPort);

    /// <summary>What our simulator of the default processor takes of each amount.</summary>
    public string DefaultFee => this["DEFAULT_FEE"] ?? "0.05";

    public string FallbackFee => this["FALLBACK_FEE"] ?? "0.15";

    /// <summary>The processors beside default and fallback, each a simulator.</summary>
    public IReadOnlyList<string> Further => PartNames.Processors.Take(Number("PROCESSORS", 2)).Skip(2).ToList();

    /// <summary>In the order of their fees.</summary>
    public IReadOnlyList<string> Processors => [PartNames.Default, PartNames.Fallback, .. Further];

    public bool HasOutsideDefault => this["DEFAULT_URL"] is not null;

    public bool HasOutsideFallback => this["FALLBACK_URL"] is not null;

    /// <summary>A PostgreSQL of the caller's own: it is never emptied here.</summary>
    public bool HasOutsideLedger => this["LEDGER"] is not null;

    public string Profile => this["PROFILE"] ?? "unlogged";

    public bool Durable => Profile == "durable";

    /// <summary>
    /// Whether the ledger starts empty. Simulators forget everything when they stop, so it does with them; outside
    /// processors remember.
    /// </summary>
    public bool Fresh =>
        (this["FRESH"] ?? (HasOutsideDefault || HasOutsideFallback || HasOutsideLedger ? "0" : "1")) == "1";

    public TimeSpan ReadyLimit => TimeSpan.FromSeconds(Number("READY_SECONDS", 30));

    /// <summary>The port of a simulator; the further ones follow that of fallback.</summary>
    public int PortOf(string processor) => processor == PartNames.Default
        ? DefaultPort
        : FallbackPort + PartNames.Processors.ToList().IndexOf(processor) - 1;

    public string UrlOf(string processor) => processor switch
    {
        PartNames.Default => DefaultUrl,
        PartNames.Fallback => FallbackUrl,
        _ => Local(PortOf(processor)),
    };

    /// <summary>The fee of a simulator, as a share of each amount.</summary>
    public string FeeOf(string processor) => processor switch
    {
        PartNames.Default => DefaultFee,
        PartNames.Fallback => FallbackFee,
        _ => this[$"Gateway__Processors__{processor}__Fee"] ?? string.Create(
            CultureInfo.InvariantCulture, $"{0.10 + 0.05 * PartNames.Processors.ToList().IndexOf(processor):0.00}"),
    };

    /// <summary>Whether the parts are started under their shares of docker-compose.yml.</summary>
    public bool Limits => this["LIMITS"] == "1";

    public string? Token => this["TOKEN"];

    /// <summary>The first instance's port for an operator's calls; the second's is the next.</summary>
    public int AdminPort => Number("ADMIN_PORT", 9101);

    /// <summary>Where the first instance takes an operator's calls.</summary>
    public string AdminUrl => Local(AdminPort);

    /// <summary>Whether an operator's calls are answered where the payments are, through nginx.</summary>
    public bool SharesAdmin => AdminPort == Port;

    public string GatewayBinary => this["GATEWAY_BIN"] ?? Published("PaymentGateway");

    public string SimulatorBinary => this["SIMULATOR_BIN"] ?? Published("ProcessorSimulator");

    /// <summary>The directory of PostgreSQL's programs; null when there is none.</summary>
    public string? PostgresBinaries => this["PG_BIN"] ?? InstalledPostgres.Newest;

    public IReadOnlyList<string> PostgresArguments =>
        (this["PG_ARGS"] ?? "").Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries);

    /// <summary>The parts of a system with these settings, in the order of their start.</summary>
    public IReadOnlyList<string> Parts =>
    [
        .. HasOutsideDefault ? Array.Empty<string>() : [PartNames.Default],
        .. HasOutsideFallback ? Array.Empty<string>() : [PartNames.Fallback],
        .. Further,
        .. HasOutsideLedger ? Array.Empty<string>() : [PartNames.Postgres],
        PartNames.First, PartNames.Second, PartNames.Nginx,
    ];

    /// <summary>A variable as it was given; null when it is not set, or set to nothing.</summary>
    public string? this[string name] => _variables.GetValueOrDefault(name) is { Length: > 0 } value ? value : null;

    public static SystemSettings FromEnvironment() => new(Environment.GetEnvironmentVariables()
        .Cast<DictionaryEntry>().Select(pair => KeyValuePair.Create((string)pair.Key, (string)pair.Value!)));

    public static SystemSettings From(IEnumerable<KeyValuePair<string, string>> variables) => new(variables);

    /// <summary>The same with these variables; one whose value is null is taken away.</summary>
    public SystemSettings With(params (string Name, string? Value)[] changes)
    {
        var changed = new Dictionary<string, string>(_variables);
        foreach (var (name, value) in changes)
        {
            Remove(changed, name);
            if (value is not null)
                changed[name] = value;
        }

        return new SystemSettings(changed);
    }

    /// <summary>The same with reconciliation on, where all processors are simulators, whose token is known.</summary>
    public SystemSettings WithReconciliation()
    {
        if (HasOutsideDefault || HasOutsideFallback)
            return this;
        var given = OfGateway().Select(pair => pair.Key).ToHashSet(StringComparer.OrdinalIgnoreCase);
        return With([.. Processors.Select(one => $"Gateway__Processors__{one}__AdminToken")
            .Where(name => !given.Contains(name)).Select(name => (name, (string?)"123"))]);
    }

    /// <summary>The same on top of what an earlier start has saved: ours win, also when set to nothing.</summary>
    public SystemSettings Over(IReadOnlyDictionary<string, string> saved)
    {
        var merged = new Dictionary<string, string>(saved);
        foreach (var (name, value) in _variables)
        {
            Remove(merged, name);
            merged[name] = value;
        }

        return new SystemSettings(merged);
    }

    /// <summary>Those that the gateway itself reads.</summary>
    public IEnumerable<KeyValuePair<string, string>> OfGateway() => _variables.Where(pair => IsOfGateway(pair.Key));

    /// <summary>What a later start of one part needs, with the defaults of today in it.</summary>
    public Dictionary<string, string> ToSave()
    {
        var saved = _variables.Where(pair => Saved.Contains(pair.Key)
            || pair.Key.StartsWith("RELAY_", StringComparison.Ordinal) || IsOfGateway(pair.Key)).ToDictionary();
        (string Name, string? Value)[] resolved =
        [
            ("PORT", $"{Port}"), ("DEFAULT_PORT", $"{DefaultPort}"), ("FALLBACK_PORT", $"{FallbackPort}"),
            ("ADMIN_PORT", $"{AdminPort}"),
            ("PROFILE", Profile), ("FRESH", Fresh ? "1" : "0"),
            ("GATEWAY_BIN", GatewayBinary), ("SIMULATOR_BIN", SimulatorBinary), ("PG_BIN", PostgresBinaries),
        ];
        foreach (var (name, value) in resolved)
            if (value is not null)
                saved[name] = value;
        return saved;
    }

    /// <summary>That of the PostgreSQL of LEDGER, or of ours.</summary>
    /// <param name="socketDirectory">Where ours, or a relay before it, has its socket.</param>
    public string ConnectionString(string socketDirectory) => this["LEDGER"] ??
        $"Host={socketDirectory};Username=gateway;Database=gateway;Multiplexing={this["MULTIPLEXING"] ?? "true"};"
        + $"Maximum Pool Size={this["POOL"] ?? "10"};Max Auto Prepare=32;Auto Prepare Min Usages=2;"
        + "No Reset On Close=true";

    // Configuration does not look at the case of a name, so GATEWAY__… is a setting of the gateway as well.
    private static bool IsOfGateway(string name) => name.StartsWith(GatewayPrefix, StringComparison.OrdinalIgnoreCase);

    private static void Remove(Dictionary<string, string> from, string name)
    {
        from.Remove(name);
        if (IsOfGateway(name))
            foreach (var same in from.Keys.Where(key => key.Equals(name, StringComparison.OrdinalIgnoreCase)).ToList())
                from.Remove(same);
    }

    public static string Local(int port) => string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{port}");

    /// <summary>The binary that `eng/publish` or a publish of a test program left.</summary>
    public string Published(string program) =>
        Repository.ArtifactsOf(Framework, "publish", program, "release_linux-x64", program);

    /// <summary>A variable that is a whole number.</summary>
    public int Number(string name, int otherwise) => this[name] is not { } text
        ? otherwise
        : int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number
            : throw new ToolException($"{name} is '{text}'; it may be a whole number");
}

namespace PaymentGateway.Tools.Running;

/// <summary>What a gateway is told by its environment.</summary>
internal static class InstanceEnvironment
{
    private const string Processors = "DOTNET_PROCESSOR_COUNT";
    private const string YoungMax = "DOTNET_GCGen0MaxBudget";
    private const string HeapLimit = "DOTNET_GCHeapHardLimit";
    private const string Token = "Gateway__Admin__Token";
    private const string Purge = "Gateway__Admin__Purge";
    private const string Profile = "Gateway__Storage__Profile";
    private const string DefaultUrl = "Gateway__Processors__Default__BaseUrl";
    private const string FallbackUrl = "Gateway__Processors__Fallback__BaseUrl";

    private static readonly Dictionary<string, string> Variables = new(StringComparer.OrdinalIgnoreCase)
    {
        [Profile] = "PROFILE=durable or unlogged",
        [DefaultUrl] = "DEFAULT_URL",
        [FallbackUrl] = "FALLBACK_URL",
        ["Gateway__Admin__Urls"] = "ADMIN_PORT",
        ["Gateway__Instance__Name"] = "no name: an instance has that of its part",
    };

    /// <exception cref="ToolException">The caller says something that a start would overrule.</exception>
    public static void RefuseOverruled(SystemSettings settings)
    {
        foreach (var (name, _) in settings.OfGateway())
            if (Variables.TryGetValue(name, out var variable))
                throw new ToolException($"{name} would be overruled here; say {variable}");
        if (settings is { HasOutsideLedger: true, Fresh: true })
            throw new ToolException("FRESH=1 empties no LEDGER of your own; say FRESH=0, and PaymentGateway purge");
    }

    public static Dictionary<string, string?> Of(SystemLayout system, string instance)
    {
        var settings = system.Settings;
        // Tests put relays of theirs between an instance and its database, and before the processors.
        var ledger = settings["RELAY_DIR"] is { } relays
            ? Path.Combine(relays, instance)
            : system.PostgresSocketDirectory;
        var environment = new Dictionary<string, string?>
        {
            ["ASPNETCORE_URLS"] = $"http://unix:{system.SocketOf(instance)}",
            ["Gateway__Admin__Urls"] = system.AdminUrlOf(instance),
            ["ConnectionStrings__Ledger"] = settings.ConnectionString(ledger),
            ["Gateway__Instance__Name"] = instance,
            [DefaultUrl] = settings["RELAY_DEFAULT_URL"] ?? settings.DefaultUrl,
            [FallbackUrl] = settings["RELAY_FALLBACK_URL"] ?? settings.FallbackUrl,
            // For the challenge and measurements; the gateway's own defaults are Operator and Durable.
            [Purge] = settings[Purge] ?? "Everyone",
            [Profile] = settings.Durable ? "Durable" : "Unlogged",
            // As in a container, where the runtime would count a third of a core as one.
            [Processors] = settings[Processors] ?? "2",
            // Hexadecimal, 4 MiB: else the young generation takes 4/5 of the processor's cache, whoever shares it.
            [YoungMax] = settings[YoungMax] ?? "400000",
        };
        // Where memory is not limited, the heap at least is, as the runtime does by itself in a container.
        if (settings["HEAP_LIMIT"] is { } limit)
            environment[HeapLimit] = limit;
        if (settings.Token is { } token)
            environment[Token] = token;
        return environment;
    }
}

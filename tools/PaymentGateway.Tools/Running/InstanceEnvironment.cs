namespace PaymentGateway.Tools.Running;

/// <summary>What a gateway is told by its environment.</summary>
internal static class InstanceEnvironment
{
    private const string Processors = "DOTNET_PROCESSOR_COUNT";
    private const string YoungMax = "DOTNET_GCGen0MaxBudget";
    private const string HeapLimit = "DOTNET_GCHeapHardLimit";
    private const string Token = "Gateway__Admin__Token";

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
            ["Gateway__Processors__Default__BaseUrl"] = settings["RELAY_DEFAULT_URL"] ?? settings.DefaultUrl,
            ["Gateway__Processors__Fallback__BaseUrl"] = settings["RELAY_FALLBACK_URL"] ?? settings.FallbackUrl,
            ["Gateway__Storage__Profile"] = settings.Durable ? "Durable" : "Unlogged",
            ["Gateway__Intake__Acknowledge"] = settings.Acknowledge,
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

using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>Registers the data source and the stores on it.</summary>
internal static class LedgerSetup
{
    // No statement of ours outlives this on the server, which is what an owner relies on when it gives one up.
    private const int StatementSecondsMax = 5;

    /// <summary>Key of the data source for batches: plain connections out of the same number.</summary>
    public const string Batches = "batches";

    // Two batches of acceptances and one of outcomes are under way at once; each fills a statement by itself, so
    // multiplexing only adds its hops to them (docs/performance.md). Everything else shares multiplexed connections.
    private const int BatchConnections = 3;

    public static void AddLedger(this IServiceCollection services, GatewayOptions options)
    {
        services.AddSingleton(_ => DataSource(options.Ledger, reserved: BatchConnections));
        services.AddKeyedSingleton(Batches, (_, _) => DataSource(
            $"{options.Ledger};Multiplexing=false;Maximum Pool Size={BatchConnections}"));
        services.AddSingleton<SchemaSetup>();
        services.AddSingleton<PaymentStore>();
        services.AddSingleton<SettlementLedger>();
        services.AddSingleton<BooksStore>();
        services.AddSingleton<ParkedStore>();
        services.AddSingleton<LeaseStore>();
        services.AddSingleton<HealthStore>();
    }

    /// <summary>Opens the pool by the connection string; limits that it leaves open are set here.</summary>
    /// <param name="connectionString">Npgsql's.</param>
    /// <param name="reserved">How many of its connections are another pool's.</param>
    /// <exception cref="ConfigurationException">It does not parse.</exception>
    public static NpgsqlDataSource DataSource(string connectionString, int reserved = 0)
    {
        try
        {
            var settings = new NpgsqlConnectionStringBuilder(connectionString);
            // ShouldSerialize: ContainsKey is true for every keyword that Npgsql knows.
            if (!settings.ShouldSerialize("Timeout"))
                settings.Timeout = 2;
            if (!settings.ShouldSerialize("Command Timeout"))
                settings.CommandTimeout = StatementSecondsMax + 1;
            if (!settings.ShouldSerialize("Maximum Pool Size"))
                settings.MaxPoolSize = 8;
            settings.MaxPoolSize = Math.Max(1, settings.MaxPoolSize - reserved);
            if (!settings.ShouldSerialize("Application Name"))
                settings.ApplicationName = "payment-gateway";
            if (settings.Options?.Contains("statement_timeout", StringComparison.Ordinal) != true)
                settings.Options = $"{settings.Options} -c statement_timeout={StatementSecondsMax}s".TrimStart();

            var builder = new NpgsqlSlimDataSourceBuilder(settings.ConnectionString);
            builder.EnableArrays();
            return builder.Build();
        }
        catch (ArgumentException wrong)
        {
            throw new ConfigurationException("ConnectionStrings__Ledger", wrong.Message.ReplaceLineEndings(" "));
        }
    }
}

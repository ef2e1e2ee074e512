using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>Registers the data source and the stores on it.</summary>
internal static class LedgerSetup
{
    // No statement of ours outlives this on the server, which is what an owner relies on when it gives one up.
    private const int StatementSecondsMax = 5;

    public static void AddLedger(this IServiceCollection services, GatewayOptions options)
    {
        services.AddSingleton(DataSource(options.Ledger));
        services.AddSingleton<SchemaSetup>();
        services.AddSingleton<PaymentStore>();
        services.AddSingleton<SettlementLedger>();
        services.AddSingleton<BooksStore>();
        services.AddSingleton<ParkedStore>();
        services.AddSingleton<LeaseStore>();
        services.AddSingleton<HealthStore>();
    }

    /// <summary>Opens the pool by the connection string; limits that it leaves open are set here.</summary>
    /// <exception cref="ConfigurationException">It does not parse.</exception>
    public static NpgsqlDataSource DataSource(string connectionString)
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

// Every Dapper call of this program is compiled; DapperCallTests prove that none is left to reflection.
[module: Dapper.DapperAot]

namespace PaymentGateway.Storage;

/// <summary>Registers the data source and the stores on it.</summary>
internal static partial class LedgerSetup
{
    private const int StatementSecondsMax = 5;

    // Longer than the server's limit, which ends a statement first.
    private const int CommandSecondsMax = StatementSecondsMax + 1;

    // Two batches of acceptances, because one may be slow, and one of outcomes; rarely an adoption takes one of these.
    // Multiplexing would only add its hops (docs/decisions/0019-plain-connections-for-batches.md).
    private const int BatchConnectionsMax = 3;

    // One for the leases, and one more where that hangs.
    private const int LeaseConnectionsMax = 2;

    // For all other statements, a purge's transaction among them.
    private const int SharedConnectionsMin = 2;

    public static void AddLedger(this IServiceCollection services, GatewayOptions options)
    {
        var (connectionString, durable, _, _) = options.Ledger;
        services.AddSingleton(provider =>
        {
            var pool = DataSource(connectionString, "shared", reserved: BatchConnectionsMax + LeaseConnectionsMax);
            if (MultiHost.AreNamedIn(new NpgsqlConnectionStringBuilder(pool.ConnectionString)))
            {
                if (!durable)
                    throw new ConfigurationException(
                        "Gateway__Storage__Profile",
                        "must be Durable where ConnectionStrings__Ledger names several hosts");
                Log.MultiHost(provider.GetRequiredService<ILogger<SharedConnections>>());
            }

            return Shared(pool, provider.GetRequiredService<TimeProvider>());
        });
        services.AddSingleton(_ => Connections(connectionString, BatchConnectionsMax));
        services.AddKeyedSingleton(LeaseStore.Leases, (provider, _) => Leases(
            connectionString, options.Leasing.LeaseDuration, provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton(provider => new SchemaSetup(
            provider.GetRequiredService<SharedConnections>(), durable,
            provider.GetRequiredService<ILogger<SchemaSetup>>()));
        services.AddSingleton<PaymentStore>();
        services.AddSingleton<SettlementLedger>();
        services.AddSingleton<LedgerStateStore>();
        services.AddSingleton<ParkedStore>();
        services.AddSingleton<DoubtStore>();
        services.AddSingleton<PaymentQueryStore>();
        services.AddSingleton<LeaseStore>();
        services.AddSingleton<HealthStore>();
        services.AddSingleton<OperatorWordStore>();
        services.AddSingleton<RetentionStore>();
        services.AddSingleton<OperatorActionStore>();
        services.AddSingleton<EventStore>();
        services.AddSingleton<WebhookStore>();
    }

    /// <summary>The connections of a pool for everything but batches.</summary>
    public static SharedConnections Shared(NpgsqlDataSource pool, TimeProvider clock)
    {
        // A caller waits 1 s longer than Npgsql's limit of a command. 0 is no limit, and the limit for several hosts is
        // too long for a caller.
        var settings = new NpgsqlConnectionStringBuilder(pool.ConnectionString);
        var limit = settings.CommandTimeout;
        if (limit == 0 || (limit == MultiHost.CommandSeconds && MultiHost.AreNamedIn(settings)))
            limit = CommandSecondsMax;
        return new SharedConnections(pool, TimeSpan.FromSeconds(limit + 1), clock);
    }

    /// <summary>
    /// The connections of the leases, plain ones that nothing else uses. Commits are synchronous in both profiles,
    /// because a closed epoch has to stay closed after a crash of the server.
    /// </summary>
    /// <exception cref="ConfigurationException">The connection string does not parse.</exception>
    public static SharedConnections Leases(string connectionString, TimeSpan leaseDuration, TimeProvider clock)
    {
        // 800 ms of 3 s: another renewal fits into the lease when a server process hangs.
        var answerWithin = leaseDuration * 4 / 15;
        // -1, because nobody waits for the end of a statement that its caller has given up.
        var seconds = (int)answerWithin.TotalSeconds + 1;
        var pool = Plain(
            $"{connectionString};Command Timeout={seconds};Cancellation Timeout=-1", "leases", LeaseConnectionsMax,
            synchronousCommit: true);
        return new SharedConnections(pool, answerWithin, clock);
    }

    /// <summary>Plain connections, whatever the connection string says of multiplexing.</summary>
    /// <exception cref="ConfigurationException">The connection string does not parse.</exception>
    public static BatchConnections Connections(string connectionString, int count) =>
        new(Plain(connectionString, "batches", count), count);

    /// <summary>Makes a pool, with defaults for the limits that the connection string leaves out.</summary>
    /// <param name="connectionString">In Npgsql's form.</param>
    /// <param name="name">For the metrics.</param>
    /// <param name="reserved">How many of its connections are another pool's.</param>
    /// <param name="synchronousCommit">Whether a commit waits until a crash cannot undo it.</param>
    /// <exception cref="ConfigurationException">The string does not parse, or allows too few connections.</exception>
    public static NpgsqlDataSource DataSource(
        string connectionString, string name = "shared", int reserved = 0, bool synchronousCommit = false)
    {
        try
        {
            var settings = new NpgsqlConnectionStringBuilder(connectionString);
            var several = MultiHost.AreNamedIn(settings);
            if (several)
                MultiHost.Prepare(settings);
            // ShouldSerialize: ContainsKey is true for every keyword that Npgsql knows.
            if (!settings.ShouldSerialize("Timeout"))
                settings.Timeout = 2;
            if (!settings.ShouldSerialize("Command Timeout"))
                settings.CommandTimeout = CommandSecondsMax;
            if (!settings.ShouldSerialize("Maximum Pool Size"))
                settings.MaxPoolSize = 10;
            if (reserved > 0 && settings.MaxPoolSize < reserved + SharedConnectionsMin)
                throw new ArgumentException($"Maximum Pool Size must be at least {reserved + SharedConnectionsMin}.");

            settings.MaxPoolSize -= reserved;
            settings.MinPoolSize = Math.Min(settings.MinPoolSize, settings.MaxPoolSize);
            if (!settings.ShouldSerialize("Max Auto Prepare"))
                settings.MaxAutoPrepare = 32;
            if (!settings.ShouldSerialize("Auto Prepare Min Usages"))
                settings.AutoPrepareMinUsages = 2;
            if (!settings.ShouldSerialize("Application Name"))
                settings.ApplicationName = "payment-gateway";
            AddOption(settings, "statement_timeout", $"{StatementSecondsMax}s");
            // A plan made while a table has one page would scan it, and is kept while the table grows (KeptPlanTests).
            // Every statement has its index.
            AddOption(settings, "enable_seqscan", "off");
            // Otherwise a plan sorts a whole backlog for one page of it, which looks cheaper in a large ledger.
            AddOption(settings, "enable_bitmapscan", "off");
            // The last option counts, so the connection string cannot switch off this, nor the wait for the standby.
            if (synchronousCommit || several)
                settings.Options += " -c synchronous_commit=on";

            var builder = new NpgsqlSlimDataSourceBuilder(settings.ConnectionString) { Name = name };
            builder.EnableArrays();
            builder.EnableTransportSecurity();
            return several ? MultiHost.Build(builder) : builder.Build();
        }
        catch (ArgumentException wrong)
        {
            throw new ConfigurationException("ConnectionStrings__Ledger", wrong.Message.ReplaceLineEndings(" "));
        }
    }

    private static NpgsqlDataSource Plain(
        string connectionString, string name, int count, bool synchronousCommit = false) =>
        DataSource(
            $"{connectionString};Multiplexing=false;Minimum Pool Size=0;Maximum Pool Size={count}", name,
            synchronousCommit: synchronousCommit);

    // An option of the connection string stays.
    private static void AddOption(NpgsqlConnectionStringBuilder settings, string name, string value)
    {
        if (settings.Options?.Contains(name, StringComparison.Ordinal) != true)
            settings.Options = $"{settings.Options} -c {name}={value}".TrimStart();
    }

    private static partial class Log
    {
        [LoggerMessage(221, LogLevel.Information,
            "ConnectionStrings__Ledger names several hosts: the one that takes writes is used, without multiplexing")]
        public static partial void MultiHost(ILogger log);
    }
}

// Every Dapper call of this program is compiled; DapperCallTests prove that none is left to reflection.
[module: Dapper.DapperAot]
[module: Dapper.CommandFactory<PaymentGateway.Storage.LimitedCommands<object>>]

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

    private const int LifetimeSeconds = 3_600;

    // More often than a NAT forgets. Npgsql's own Keepalive would block the sockets' thread while a server is silent.
    private const int TcpKeepAliveSeconds = 30;

    // One that the connection string names stays.
    private static readonly (string Name, string Value)[] Options =
    [
        ("statement_timeout", $"{StatementSecondsMax}s"),
        // A frozen client would hold its locks.
        ("idle_in_transaction_session_timeout", "30s"),
        ("idle_session_timeout", "0"),
        // Compiling takes longer than any statement.
        ("jit", "off"),
        // A plan made while a table has one page would scan it, and is kept while the table grows (KeptPlanTests).
        // Every statement has its index.
        ("enable_seqscan", "off"),
        // Otherwise a plan sorts a whole backlog for one page of it, which looks cheaper in a large ledger.
        ("enable_bitmapscan", "off"),
    ];

    // Last, so that the connection string cannot switch these off: Npgsql's quotes, the conflicts that statements
    // expect, and the warning of a commit that no longer waits for the standby.
    private const string FixedOptions =
        @" -c standard_conforming_strings=on -c default_transaction_isolation=read\ committed"
        + " -c client_min_messages=warning";

    public static void AddLedger(this IServiceCollection services, GatewayOptions options)
    {
        var (connectionString, durable, _, _) = options.Ledger;
        services.AddSingleton(provider =>
        {
            var pool = DataSource(
                connectionString, "shared", reserved: BatchConnectionsMax + LeaseConnectionsMax, durable);
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
        services.AddSingleton(provider => Connections(
            connectionString, BatchConnectionsMax, durable, provider.GetRequiredService<TimeProvider>()));
        services.AddKeyedSingleton(LeaseStore.Leases, (provider, _) => Leases(
            connectionString, options.Leasing.LeaseDuration, provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton(provider => new SchemaSetup(
            provider.GetRequiredService<SharedConnections>(), Migration.All, durable,
            provider.GetRequiredService<ILogger<SchemaSetup>>()));
        services.AddSingleton<PaymentStore>();
        services.AddSingleton<PayerStore>();
        services.AddSingleton<SettlementLedger>();
        services.AddSingleton<SummaryStore>();
        services.AddSingleton<LedgerStateStore>();
        services.AddSingleton<ParkedStore>();
        services.AddSingleton<DoubtStore>();
        services.AddSingleton<LeaseStore>();
        services.AddSingleton<AdoptionStore>();
        services.AddSingleton<ReadingStore>();
        services.AddSingleton<HealthStore>();
        services.AddSingleton<OperatorWordStore>();
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
        var seconds = (int)answerWithin.TotalSeconds + 1;
        var pool = Plain(
            $"{connectionString};Command Timeout={seconds}", "leases", LeaseConnectionsMax, synchronousCommit: true);
        return new SharedConnections(pool, answerWithin, clock);
    }

    /// <summary>Plain connections, whatever the connection string says of multiplexing.</summary>
    /// <exception cref="ConfigurationException">The connection string does not parse.</exception>
    public static BatchConnections Connections(
        string connectionString, int count, bool durable = false, TimeProvider? clock = null) =>
        new(Plain(connectionString, "batches", count, durable), count, clock ?? TimeProvider.System);

    /// <summary>Makes a pool, with defaults for the limits that the connection string leaves out.</summary>
    /// <param name="name">For the metrics.</param>
    /// <param name="reserved">How many of its connections are another pool's.</param>
    /// <param name="synchronousCommit">Whether a commit waits until neither a crash nor a failover can undo it.</param>
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
            if (!settings.ShouldSerialize("Connection Lifetime"))
                settings.ConnectionLifetime = LifetimeSeconds;
            // A Unix socket takes no option of TCP.
            if (!settings.ShouldSerialize("TCP Keepalive Time") && settings.Host is [not ('/' or '@'), ..])
                settings.TcpKeepAliveTime = TcpKeepAliveSeconds;
            foreach (var (option, value) in Options)
                if (settings.Options?.Contains($"{option}=", StringComparison.Ordinal) != true)
                    settings.Options = $"{settings.Options} -c {option}={value}".TrimStart();
            settings.Options += FixedOptions;
            synchronousCommit |= several;
            if (synchronousCommit)
            {
                settings.Options += " -c synchronous_commit=on";
                // A commit whose wait for the standby is cancelled looks done, so nobody reads the answer after that.
                settings.CancellationTimeout = -1;
            }

            var builder = new NpgsqlSlimDataSourceBuilder(settings.ConnectionString) { Name = name };
            builder.EnableArrays();
            builder.EnableTransportSecurity();
            if (synchronousCommit)
                MultiHost.BeginWithCommit(builder);
            return several
                ? builder.BuildMultiHost().WithTargetSession(TargetSessionAttributes.ReadWrite)
                : builder.Build();
        }
        catch (ArgumentException wrong)
        {
            throw new ConfigurationException("ConnectionStrings__Ledger", wrong.Message.ReplaceLineEndings(" "));
        }
    }

    private static NpgsqlDataSource Plain(
        string connectionString, string name, int count, bool synchronousCommit = false) =>
        DataSource(
            $"{connectionString};Multiplexing=false;Minimum Pool Size=0;Maximum Pool Size={count};"
                // Nobody waits for the end of a statement that its caller has given up.
                + "Cancellation Timeout=-1", name,
            synchronousCommit: synchronousCommit);

    private static partial class Log
    {
        [LoggerMessage(221, LogLevel.Information,
            "ConnectionStrings__Ledger names several hosts: the one that takes writes is used, without multiplexing")]
        public static partial void MultiHost(ILogger log);
    }
}

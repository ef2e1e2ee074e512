using PaymentGateway.Accepting;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Operator;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Summarising;

namespace PaymentGateway.Hosting;

/// <summary>Builds the gateway from arguments, environment and files.</summary>
internal static partial class GatewayApp
{
    /// <param name="clock">A test's clock.</param>
    /// <exception cref="ConfigurationException">A setting is wrong.</exception>
    public static WebApplication Create(string[] args, TimeProvider? clock = null)
    {
        var builder = HostSetup.CreateBuilder(args);
        var settings = new SettingsReader(builder.Configuration);
        var options = GatewayOptions.Read(settings);
        builder.Services.AddOperator(settings);
        settings.RefuseUnknown();
        var instance = InstanceLock.Take(
            builder.Configuration["urls"], options.Instance.Name, options.Instance.Urls.AdminOnly);
        builder.AddLog(options.Instance.LogFormat);
        HostSetup.Configure(builder, options);
        builder.Services.AddStages(options, instance, clock ?? TimeProvider.System);
        builder.Services.AddOtlpExport(builder.Configuration, options);

        var app = builder.Build();
        var (operators, urls) = (options.Operators, options.Instance.Urls);
        app.UseErrorAnswers();
        app.MapPayGroup().MapPayments();
        app.MapReaderGroup(static admin => admin.Summary).MapAudit(app.MapPurgeGroup());
        app.MapOperator();
        app.MapReaderGroup(static admin => admin.Docs).MapDocs(
            app.MapReaderGroup(static admin => admin.OpenApi));
        app.MapHealth();
        app.Lifetime.ApplicationStarted.Register(() => HostSetup.OpenSockets(app, urls));
        if (urls.Operators.Count == 0)
            Log.AdminClosed(app.Logger);
        else if (operators.Tokens.Count == 0)
            Log.AdminOpen(app.Logger, string.Join(';', urls.Operators));
        if (operators is { Purger: Purger.Everyone, Tokens.Count: 0 })
            Log.PurgeOpen(app.Logger);
        if (UnverifiedHost(options.Ledger.ConnectionString) is { } host)
            Log.LedgerUnverified(app.Logger, host);
        return app;
    }

    /// <summary>A host of PostgreSQL beyond this machine whose certificate is not checked; null for none.</summary>
    internal static string? UnverifiedHost(string connectionString)
    {
        var settings = new NpgsqlConnectionStringBuilder(connectionString);
        return settings.SslMode == SslMode.VerifyFull
            ? null
            : (settings.Host ?? "").Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)
                .FirstOrDefault(host => host[0] is not ('/' or '@') && !IsLoopback(host));

        static bool IsLoopback(string host) =>
            host.Split(':')[0].Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || (IPEndPoint.TryParse(host, out var address) && IPAddress.IsLoopback(address.Address));
    }

    private static partial class Log
    {
        [LoggerMessage(1, LogLevel.Warning,
            "Gateway__Admin__Token is not set: anyone who reaches {Urls} can read and purge the ledger")]
        public static partial void AdminOpen(ILogger log, string urls);

        [LoggerMessage(3, LogLevel.Information,
            "Gateway__Admin__Urls is not set: no listener answers an operator's calls or the purge")]
        public static partial void AdminClosed(ILogger log);

        [LoggerMessage(11, LogLevel.Warning,
            "ConnectionStrings__Ledger has no SSL Mode=VerifyFull: whoever is between here and {Host} can read the "
            + "ledger and its password")]
        public static partial void LedgerUnverified(ILogger log, string host);

        [LoggerMessage(6, LogLevel.Warning,
            "Gateway__Admin__Purge is Everyone, and there is no Gateway__Admin__Token: everyone who can pay can purge")]
        public static partial void PurgeOpen(ILogger log);
    }
}

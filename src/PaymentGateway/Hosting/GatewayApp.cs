using Microsoft.AspNetCore.Server.Kestrel.Core;
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
    // nginx limits slow headers itself. A short limit of Kestrel's would count a freeze of this process too, and answer
    // 408 to requests that have just arrived.
    private static readonly TimeSpan HeadersTimeout = TimeSpan.FromMinutes(10);
    private static readonly TimeSpan ShutdownMargin = TimeSpan.FromSeconds(5);

    // Ends a body that stops or trickles; Kestrel's default, stated because a test relies on it.
    private static readonly MinDataRate BodyRateMin = new(240, TimeSpan.FromSeconds(5));

    // nginx has at most 1,024 in flight and 128 idle (nginx.conf), and twice that in the moments of a reload.
    private const int BacklogMax = 1_024;
    private const int ConnectionsMax = 2 * (BacklogMax + 128);

    private const int HeadBytesMax = 12 * 1024;

    /// <param name="clock">A test's clock.</param>
    /// <exception cref="ConfigurationException">A setting is wrong.</exception>
    public static WebApplication Create(string[] args, TimeProvider? clock = null)
    {
        var builder = CreateBuilder(args);
        var settings = new SettingsReader(builder.Configuration);
        var options = GatewayOptions.Read(settings);
        builder.Services.AddOperator(settings);
        settings.RefuseUnknown();
        var instance = InstanceLock.Take(
            builder.Configuration["urls"], options.Instance.Name, options.Instance.Urls.AdminOnly);
        builder.AddLog(options.Instance.LogFormat);
        ConfigureHost(builder, options);
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
        app.Lifetime.ApplicationStarted.Register(() => OpenSockets(app, urls));
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

    /// <summary>
    /// The settings of a start: appsettings.json, the environment, the files of the secrets' directory, the arguments.
    /// </summary>
    /// <exception cref="ConfigurationException">A file is malformed or cannot be read.</exception>
    public static IConfiguration ReadSettings(string[] args) => CreateBuilder(args).Configuration;

    private static WebApplicationBuilder CreateBuilder(string[] args)
    {
        try
        {
            // No file is watched, because settings are read once and hosts with many instances run out of watchers.
            var builder = WebApplication.CreateSlimBuilder([.. args, "--hostBuilder:reloadConfigOnChange=false"]);
            AddSecrets(builder.Configuration, args);
            return builder;
        }
        catch (InvalidDataException malformed)
        {
            throw new ConfigurationException(
                "appsettings.json", malformed.GetBaseException().Message.ReplaceLineEndings(" "));
        }
    }

    private static void AddSecrets(ConfigurationManager configuration, string[] args)
    {
        if (GatewayOptions.ReadSecretsDirectory(new SettingsReader(configuration)) is not { } directory)
            return;

        try
        {
            configuration.AddKeyPerFile(Path.GetFullPath(directory), optional: false, reloadOnChange: false);
        }
        // ArgumentException: the names of two files differ in their case only.
        catch (Exception unread) when (unread is IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw new ConfigurationException("Gateway__Secrets__Directory", $"cannot be read: {unread.Message}");
        }

        // The arguments once more, because the last source wins.
        configuration.AddCommandLine(args);
    }

    private static void ConfigureHost(WebApplicationBuilder builder, GatewayOptions options)
    {
        if (options.Instance.Urls.All is { } urls)
            builder.WebHost.UseUrls(urls);
        // A request continues on the thread that read it, because nothing blocks and a hop costs more than the work.
        builder.WebHost.UseSockets(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = true;
            // Saves a read in each request; each of nginx's few idle connections holds a buffer of 4 KB for it.
            sockets.WaitForDataBeforeAllocatingBuffer = false;
            // Beyond it a Unix socket refuses connections at once, such as while the CPU limit pauses the instance.
            sockets.Backlog = BacklogMax;
        });
        // A bare LF ends no line, otherwise a proxy and this server could split requests differently.
        AppContext.SetSwitch("Microsoft.AspNetCore.Server.Kestrel.DisableHttp1LineFeedTerminators", true);
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.AddServerHeader = false;
            kestrel.Limits.MaxConcurrentConnections = Math.Min(ConnectionsMax, DescriptorsMax() / 2);
            kestrel.Limits.MinRequestBodyDataRate = BodyRateMin;
            kestrel.Limits.MaxRequestBodySize = GatewayOptions.BodyBytesMax;
            kestrel.Limits.RequestHeadersTimeout = HeadersTimeout;
            // More than nginx passes (1 KB, then two lines of 4 KB); its refusal has a body, Kestrel's has none.
            kestrel.Limits.MaxRequestLineSize = HeadBytesMax;
            kestrel.Limits.MaxRequestHeadersTotalSize = HeadBytesMax;
            // Latin-1 takes any byte. Kestrel would answer 400 without a body to a header that is no UTF-8.
            kestrel.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
        });
        builder.Services.Configure<HostOptions>(
            host => host.ShutdownTimeout = options.Settling.DrainTimeout + ShutdownMargin);
    }

    // Clients get half of them. Without a descriptor Kestrel cannot accept, tries again without a pause, and leaves a
    // client to wait; the instance cannot connect to PostgreSQL either. Above its limit it closes a connection at once,
    // and nginx asks the other instance. .NET has raised the limit as far as it may before this runs.
    private static long DescriptorsMax()
    {
        const string Row = "Max open files";
        var limit = File.ReadLines("/proc/self/limits").First(line => line.StartsWith(Row, StringComparison.Ordinal))
            [Row.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries)[0];
        return long.TryParse(limit, NumberStyles.None, CultureInfo.InvariantCulture, out var count)
            ? count
            : long.MaxValue;
    }

    // Kestrel makes a socket writable for its owner only. nginx runs as another user; operators share the group.
    private static void OpenSockets(WebApplication app, ListenUrls urls)
    {
        const UnixFileMode Group = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead
            | UnixFileMode.GroupWrite;
        const UnixFileMode Everyone = Group | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;
        foreach (var address in app.Urls.Select(BindingAddress.Parse).Where(address => address.IsUnixPipe))
            File.SetUnixFileMode(address.UnixPipePath, urls.AdminOnly.Contains(address) ? Group : Everyone);
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

using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace PaymentGateway.Hosting;

/// <summary>The sources of settings, and the limits of the web server and of its sockets.</summary>
internal static class HostSetup
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

    /// <summary>
    /// The settings of a start: appsettings.json, the environment, the files of the secrets' directory, the arguments.
    /// </summary>
    /// <exception cref="ConfigurationException">A file is malformed or cannot be read.</exception>
    public static IConfiguration ReadSettings(string[] args) => CreateBuilder(args).Configuration;

    /// <inheritdoc cref="ReadSettings"/>
    public static WebApplicationBuilder CreateBuilder(string[] args)
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

    public static void Configure(WebApplicationBuilder builder, GatewayOptions options)
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

    /// <summary>
    /// Lets others write to the Unix sockets, because Kestrel makes each writable for its owner alone: everybody to
    /// those that take payments, since nginx runs as another user, and the group to those of operators.
    /// </summary>
    public static void OpenSockets(WebApplication app, ListenUrls urls)
    {
        const UnixFileMode Group = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead
            | UnixFileMode.GroupWrite;
        const UnixFileMode Everyone = Group | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;
        foreach (var address in app.Urls.Select(BindingAddress.Parse).Where(address => address.IsUnixPipe))
            File.SetUnixFileMode(address.UnixPipePath, urls.AdminOnly.Contains(address) ? Group : Everyone);
    }
}

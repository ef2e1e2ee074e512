using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Charging;

/// <summary>How the gateway connects to processors (docs/decisions/0004-in-doubt-is-a-state.md).</summary>
internal static class ProcessorConnections
{
    /// <summary>Registers the connections of each processor under its name, and those of a reconciliation.</summary>
    public static void Add(IServiceCollection services, GatewayOptions options)
    {
        foreach (var one in options.Processors.All)
            foreach (var name in new[] { one.Processor.Name, AdminName(one.Processor) })
                services.AddHttpClient(name).ConfigurePrimaryHttpMessageHandler(() => Connect(options.Settling))
                    .SetHandlerLifetime(Timeout.InfiniteTimeSpan).RemoveAllLoggers();
    }

    /// <summary>The name of the connections that only a reconciliation uses.</summary>
    public static string AdminName(Processor processor) => $"{processor}.Admin";

    private static SocketsHttpHandler Connect(SettlingOptions options) => new()
    {
        ConnectTimeout = options.ConnectTimeout,
        ConnectCallback = static async (context, end) => await AddressRace.ConnectAsync(
            await Dns.GetHostAddressesAsync(context.DnsEndPoint.Host, end), context.DnsEndPoint.Port, end),
        // Resolves the address again after this time, because a processor may move.
        PooledConnectionLifetime = TimeSpan.FromMinutes(2),
        SslOptions =
        {
            // A download of a missing certificate would block the sockets' thread; the system's own ones are enough.
            CertificateChainPolicy = new X509ChainPolicy
            {
                DisableCertificateDownloads = true,
                RevocationMode = X509RevocationMode.NoCheck,
            },
        },
        // The rest of an answer that is too long is not read.
        MaxResponseDrainSize = 0,
        UseCookies = false,
        AllowAutoRedirect = false,
        AutomaticDecompression = DecompressionMethods.None,
        ActivityHeadersPropagator = null,
        UseProxy = false,
    };
}

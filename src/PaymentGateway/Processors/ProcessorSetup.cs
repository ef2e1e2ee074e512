using System.Net;
using System.Security.Cryptography.X509Certificates;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Processors;

/// <summary>Registers the two lanes with their HTTP clients.</summary>
internal static class ProcessorSetup
{
    // A processor that moves is found at its new address after this time.
    private static readonly TimeSpan ConnectionKept = TimeSpan.FromMinutes(2);

    public static void AddProcessors(this IServiceCollection services, GatewayOptions options)
    {
        foreach (var processor in Enum.GetValues<Processor>())
        {
            services.AddKeyedSingleton(processor, (provider, _) =>
                new ProcessorHealth(provider.GetRequiredService<TimeProvider>(), options.Routing));
            services.AddHttpClient(processor.ToString())
                .UseSocketsHttpHandler((handler, _) => Tune(handler, options.Settling))
                .AddHttpMessageHandler(provider => new CallGuardHandler(
                    processor, provider.GetRequiredKeyedService<ProcessorHealth>(processor), options.Routing,
                    options.Settling.CallTimeout, provider.GetRequiredService<TimeProvider>(),
                    provider.GetRequiredService<ILogger<CallGuardHandler>>()))
                .SetHandlerLifetime(Timeout.InfiniteTimeSpan)
                .RemoveAllLoggers();
        }

        services.AddSingleton(provider => new ProcessorLanes(
            Lane(provider, Processor.Default, options), Lane(provider, Processor.Fallback, options)));
    }

    // The handlers without an HttpClient around them: its limits and defaults are none of ours, its copies cost.
    private static ProcessorLane Lane(IServiceProvider provider, Processor processor, GatewayOptions options)
    {
        var clock = provider.GetRequiredService<TimeProvider>();
        var handlers = provider.GetRequiredService<IHttpMessageHandlerFactory>().CreateHandler(processor.ToString());
        var http = new HttpMessageInvoker(handlers, disposeHandler: false);
        return new ProcessorLane(
            new ProcessorClient(
                http, options.Of(processor).Url, processor, provider.GetRequiredService<Lease>(), clock),
            provider.GetRequiredKeyedService<ProcessorHealth>(processor), options.Settling,
            provider.GetRequiredService<GatewayMetrics>(), clock);
    }

    /// <summary>What every connection to a processor has.</summary>
    public static void Tune(SocketsHttpHandler handler, SettlingOptions options)
    {
        handler.ConnectTimeout = options.ConnectTimeout;
        handler.PooledConnectionLifetime = ConnectionKept;
        // The system trusts what it trusts; a certificate that lacks would be fetched in the thread of the sockets.
        handler.SslOptions.CertificateChainPolicy = new X509ChainPolicy
        {
            DisableCertificateDownloads = true,
            RevocationMode = X509RevocationMode.NoCheck,
        };
        // What is left of an answer that is too long is not read to its end.
        handler.MaxResponseDrainSize = 0;
        handler.UseCookies = false;
        handler.AllowAutoRedirect = false;
        handler.AutomaticDecompression = DecompressionMethods.None;
        handler.ActivityHeadersPropagator = null;
        handler.UseProxy = false;
    }
}

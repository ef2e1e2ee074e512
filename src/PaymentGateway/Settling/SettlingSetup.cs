using System.Net;
using PaymentGateway.Routing;

namespace PaymentGateway.Settling;

/// <summary>Registers the two lanes with their HTTP clients, and what works on them.</summary>
internal static class SettlingSetup
{
    // Health calls may wait for the window to turn; the client's own limits are in the handler.
    private static readonly TimeSpan ConnectionKept = TimeSpan.FromMinutes(2);

    public static void AddSettling(this IServiceCollection services, GatewayOptions options)
    {
        services.AddSingleton(_ => new Ticker(options.Settling.Gather, "charges"));
        foreach (var processor in Enum.GetValues<Processor>())
        {
            services.AddKeyedSingleton(processor, (provider, _) =>
                new ProcessorHealth(provider.GetRequiredService<TimeProvider>(), options.Routing));
            services.AddHttpClient(processor.ToString())
                .UseSocketsHttpHandler((handler, provider) =>
                {
                    Tune(handler);
                    var connector = new ProcessorConnector(
                        provider.GetRequiredService<Ticker>(), options.Settling.ConnectTimeout,
                        options.Settling.CallTimeout, provider.GetRequiredService<TimeProvider>());
                    handler.ConnectCallback = (connecting, cancellation) =>
                        connector.ConnectAsync(connecting.DnsEndPoint, cancellation);
                })
                .AddHttpMessageHandler(provider => new CallGuardHandler(
                    provider.GetRequiredKeyedService<ProcessorHealth>(processor), options.Routing,
                    provider.GetRequiredService<TimeProvider>()))
                .SetHandlerLifetime(Timeout.InfiniteTimeSpan)
                .RemoveAllLoggers();
        }

        services.AddSingleton(provider => new ProcessorLanes(
            Lane(provider, Processor.Default, options), Lane(provider, Processor.Fallback, options)));
        services.AddSingleton<PaymentParking>();
        services.AddSingleton<SettlementWriter>();
        services.AddSingleton<DoubtResolver>();
    }

    // The handlers without an HttpClient around them: its limits and defaults are none of ours, its copies cost.
    private static ProcessorLane Lane(IServiceProvider provider, Processor processor, GatewayOptions options)
    {
        var clock = provider.GetRequiredService<TimeProvider>();
        var handlers = provider.GetRequiredService<IHttpMessageHandlerFactory>().CreateHandler(processor.ToString());
        var http = new HttpMessageInvoker(handlers, disposeHandler: false);
        return new ProcessorLane(
            new ProcessorClient(http, options.UrlOf(processor), processor, clock),
            provider.GetRequiredKeyedService<ProcessorHealth>(processor), options.Settling, clock);
    }

    private static void Tune(SocketsHttpHandler handler)
    {
        handler.PooledConnectionLifetime = ConnectionKept;
        handler.UseCookies = false;
        handler.AllowAutoRedirect = false;
        handler.AutomaticDecompression = DecompressionMethods.None;
        handler.ActivityHeadersPropagator = null;
        handler.UseProxy = false;
    }
}

using System.Net;
using Microsoft.Extensions.Http.Resilience;
using PaymentGateway.Routing;
using Polly;
using Polly.Timeout;

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
            AddClient(services, ChargesOf(processor), options.Settling, (pipeline, context) => AddBreaker(
                pipeline, context.ServiceProvider.GetRequiredKeyedService<ProcessorHealth>(processor),
                options.Routing));
            AddClient(services, LookupsOf(processor), options.Settling, (_, _) => { });
        }

        services.AddSingleton(provider => new ProcessorLanes(
            Lane(provider, Processor.Default, options), Lane(provider, Processor.Fallback, options)));
        services.AddSingleton<PaymentParking>();
        services.AddSingleton<SettlementWriter>();
        services.AddSingleton<DoubtResolver>();
    }

    /// <summary>The named client of a processor's charges.</summary>
    public static string ChargesOf(Processor processor) => $"{processor} charges";

    private static string LookupsOf(Processor processor) => $"{processor} look-ups";

    private static void AddClient(
        IServiceCollection services, string name, SettlingOptions options,
        Action<ResiliencePipelineBuilder<HttpResponseMessage>, ResilienceHandlerContext> guard)
    {
        var client = services.AddHttpClient(name)
            .UseSocketsHttpHandler((handler, provider) =>
            {
                Tune(handler);
                var connector = new ProcessorConnector(
                    provider.GetRequiredService<Ticker>(), options.ConnectTimeout, options.CallTimeout,
                    provider.GetRequiredService<TimeProvider>());
                handler.ConnectCallback = (connecting, cancellation) =>
                    connector.ConnectAsync(connecting.DnsEndPoint, cancellation);
            })
            .SetHandlerLifetime(Timeout.InfiniteTimeSpan)
            .RemoveAllLoggers();
        client.AddResilienceHandler("guard", (pipeline, context) =>
        {
            pipeline.TimeProvider = context.ServiceProvider.GetRequiredService<TimeProvider>();
            guard(pipeline, context);
            if (Environment.GetEnvironmentVariable("TRY_TIMEOUT") != "0")
                pipeline.AddTimeout(options.CallTimeout);
            if (Environment.GetEnvironmentVariable("TRY_TELEMETRY") == "0")
                pipeline.TelemetryListener = null;
        });
        client.AddHttpMessageHandler(_ => new AnswerHandler());
    }

    private static void AddBreaker(
        ResiliencePipelineBuilder<HttpResponseMessage> pipeline, ProcessorHealth health, RoutingOptions routing) =>
        pipeline.AddCircuitBreaker(new HttpCircuitBreakerStrategyOptions
        {
            ShouldHandle = new PredicateBuilder<HttpResponseMessage>()
                .Handle<HttpRequestException>().Handle<TimeoutRejectedException>().Handle<IOException>()
                .HandleResult(response => (int)response.StatusCode is 429 or >= 500),
            SamplingDuration = TimeSpan.FromSeconds(1),
            MinimumThroughput = 4,
            FailureRatio = 0.25,
            BreakDuration = routing.TrialInterval,
            OnOpened = opened =>
            {
                health.CircuitOpened(opened.BreakDuration);
                return default;
            },
            OnClosed = _ =>
            {
                health.CircuitClosed();
                return default;
            },
        });

    // The handlers without an HttpClient around them: its limits and defaults are none of ours, its copies cost.
    private static ProcessorLane Lane(IServiceProvider provider, Processor processor, GatewayOptions options)
    {
        var clock = provider.GetRequiredService<TimeProvider>();
        return new ProcessorLane(
            new ProcessorClient(
                HandlersOf(ChargesOf(processor)), HandlersOf(LookupsOf(processor)), options.UrlOf(processor), processor,
                clock),
            provider.GetRequiredKeyedService<ProcessorHealth>(processor), options.Settling, clock);

        HttpMessageInvoker HandlersOf(string name) => new(
            provider.GetRequiredService<IHttpMessageHandlerFactory>().CreateHandler(name), disposeHandler: false);
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

using PaymentGateway.Routing;
using Polly;
using Polly.CircuitBreaker;
using Polly.Timeout;

namespace PaymentGateway.Settling;

/// <summary>
/// A processor's time limit and circuit breaker around the call and the reading of its answer, so that a trickling
/// body ends too. It never repeats a call: that is how money is charged twice. Look-ups pass the breaker by, since
/// a failing processor still answers them (contract.md).
/// </summary>
internal sealed class CallGuardHandler(
    ProcessorHealth health, SettlingOptions options, RoutingOptions routing, TimeProvider clock) : DelegatingHandler
{
    // Larger answers are no answers of the contract; what is cut does not parse and is in doubt.
    private const int AnswerBytesMax = 4096;

    private readonly ResiliencePipeline<HttpResponseMessage> charges =
        new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = clock }
        .AddCircuitBreaker(new CircuitBreakerStrategyOptions<HttpResponseMessage>
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
        })
        .AddTimeout(new TimeoutStrategyOptions { Timeout = options.CallTimeout })
        .Build();

    private readonly ResiliencePipeline<HttpResponseMessage> lookups =
        new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = clock }
        .AddTimeout(new TimeoutStrategyOptions { Timeout = options.CallTimeout })
        .Build();

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var pipeline = request.Method == HttpMethod.Post ? charges : lookups;
        return await pipeline.ExecuteAsync(
            static async (call, token) =>
            {
                var response = await call.Handler.SendPlainAsync(call.Request, token);
                try
                {
                    await BufferAsync(response, token);
                    return response;
                }
                catch
                {
                    response.Dispose();
                    throw;
                }
            },
            (Handler: this, Request: request),
            cancellationToken);
    }

    private Task<HttpResponseMessage> SendPlainAsync(HttpRequestMessage request, CancellationToken token) =>
        base.SendAsync(request, token);

    private static async Task BufferAsync(HttpResponseMessage response, CancellationToken token)
    {
        if (response.Content.Headers.ContentLength == 0)
            return;

        await using var stream = await response.Content.ReadAsStreamAsync(token);
        var told = response.Content.Headers.ContentLength ?? AnswerBytesMax;
        var answer = new byte[Math.Min(told, AnswerBytesMax)];
        var length = await stream.ReadAtLeastAsync(answer, answer.Length, throwOnEndOfStream: false, token);
        var plain = response.Content;
        response.Content = new ByteArrayContent(answer, 0, length);
        plain.Dispose();
    }
}

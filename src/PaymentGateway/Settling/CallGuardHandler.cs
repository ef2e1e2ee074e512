using System.Net;
using System.Runtime.CompilerServices;
using PaymentGateway.Routing;
using Polly;
using Polly.CircuitBreaker;

namespace PaymentGateway.Settling;

/// <summary>
/// A processor's circuit breaker around the call and the reading of its answer. It never repeats a call: that is how
/// money is charged twice. Look-ups pass the breaker by, since a failing processor still answers them (contract.md).
/// The time limit is the connection's (<see cref="TickedStream"/>).
/// </summary>
internal sealed class CallGuardHandler(ProcessorHealth health, RoutingOptions routing, TimeProvider clock)
    : DelegatingHandler
{
    // Larger answers are no answers of the contract; what is cut does not parse and is in doubt.
    private const int AnswerBytesMax = 4096;

    private readonly ResiliencePipeline<HttpResponseMessage> charges =
        new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = clock }
        .AddCircuitBreaker(new CircuitBreakerStrategyOptions<HttpResponseMessage>
        {
            ShouldHandle = new PredicateBuilder<HttpResponseMessage>()
                .Handle<HttpRequestException>().Handle<IOException>()
                // Only these say that the processor itself is at work; a 404 or 401 comes from something in between.
                .HandleResult(response => (int)response.StatusCode is not (200 or 400 or 422)),
            SamplingDuration = TimeSpan.FromSeconds(1),
            MinimumThroughput = 4,
            FailureRatio = 0.25,
            BreakDuration = routing.TrialInterval,
            StateProvider = health.Circuit,
        })
        .Build();

    /// <summary>The body of an answer that came through here; empty when there was none.</summary>
    public static ReadOnlySpan<byte> AnswerOf(HttpResponseMessage response) => ((Answer)response.Content).Bytes;

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        if (request.Method != HttpMethod.Post)
            return ResultOf(await CallAsync(request, cancellationToken));

        var context = ResilienceContextPool.Shared.Get(cancellationToken);
        try
        {
            return ResultOf(await charges.ExecuteOutcomeAsync(
                static (context, call) => call.Handler.CallAsync(call.Request, context.CancellationToken), context,
                (Handler: this, Request: request)));
        }
        finally
        {
            ResilienceContextPool.Shared.Return(context);
        }
    }

    private static HttpResponseMessage ResultOf(Outcome<HttpResponseMessage> outcome)
    {
        outcome.ThrowIfException();
        return outcome.Result!;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<Outcome<HttpResponseMessage>> CallAsync(HttpRequestMessage request, CancellationToken token)
    {
        HttpResponseMessage? response = null;
        try
        {
            response = await base.SendAsync(request, token);
            using var plain = response.Content;
            response.Content = new Answer(await ReadAsync(plain, token));
            return Outcome.FromResult(response);
        }
        catch (Exception failed)
        {
            response?.Dispose();
            return Outcome.FromException<HttpResponseMessage>(failed);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<ReadOnlyMemory<byte>> ReadAsync(HttpContent content, CancellationToken token)
    {
        var told = content.Headers.ContentLength ?? AnswerBytesMax;
        if (told == 0)
            return default;

        // The synchronous call gives the same stream without a task; only its reading waits for the network.
        var stream = content.ReadAsStream(token);
        var answer = new byte[Math.Min(told, AnswerBytesMax)];
        return answer.AsMemory(0, await stream.ReadAtLeastAsync(answer, answer.Length, false, token));
    }

    /// <summary>A body that is read already.</summary>
    private sealed class Answer(ReadOnlyMemory<byte> bytes) : HttpContent
    {
        public ReadOnlySpan<byte> Bytes => bytes.Span;

        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
            stream.WriteAsync(bytes).AsTask();

        protected override bool TryComputeLength(out long length)
        {
            length = bytes.Length;
            return true;
        }
    }
}

using System.Net;
using System.Runtime.CompilerServices;
using PaymentGateway.Configuration;
using PaymentGateway.Routing;
using Polly;
using Polly.CircuitBreaker;

namespace PaymentGateway.Processors;

/// <summary>
/// A processor's time limit and circuit breaker around the call and the reading of its answer. It never repeats a call:
/// that is how money is charged twice. Look-ups pass the breaker by, since a failing processor still answers them
/// (contract.md).
/// </summary>
internal sealed partial class CallGuardHandler : DelegatingHandler
{
    // Larger answers are no answers of the contract; what is cut does not parse and is in doubt.
    private const int AnswerBytesMax = 4096;

    private readonly ResiliencePipeline<HttpResponseMessage> _charges;
    private readonly ResiliencePipeline<HttpResponseMessage> _lookUps;
    private bool _isOpen;

    /// <param name="processor">Whose calls these are, for the log.</param>
    /// <param name="health">Reads the circuit's state.</param>
    /// <param name="routing">How long the circuit stays open.</param>
    /// <param name="timeLimit">For a whole call, connecting included.</param>
    /// <param name="clock">Its time counts for both.</param>
    /// <param name="log">Says why the circuit opened.</param>
    public CallGuardHandler(
        Processor processor, ProcessorHealth health, RoutingOptions routing, TimeSpan timeLimit, TimeProvider clock,
        ILogger<CallGuardHandler> log)
    {
        _lookUps = new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = clock }
            .AddTimeout(timeLimit)
            .Build();
        var breaker = Breaker(health, routing);
        breaker.OnOpened = opened =>
        {
            // Log the first failure only; each failed probe would repeat it.
            if (!_isOpen)
            {
                var reason = ReasonOf(opened.Outcome);
                Log.Opened(log, processor, reason);
            }

            _isOpen = true;
            return default;
        };
        breaker.OnClosed = _ =>
        {
            Log.Closed(log, processor);
            _isOpen = false;
            return default;
        };
        _charges = new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = clock }
            .AddCircuitBreaker(breaker)
            .AddTimeout(timeLimit)
            .Build();
    }

    /// <summary>The body of an answer that came through here; empty when there was none.</summary>
    public static ReadOnlySpan<byte> AnswerOf(HttpResponseMessage response) => ((Answer)response.Content).Bytes;

    /// <summary>The rules of the circuit, for the simulation of routing too.</summary>
    public static CircuitBreakerStrategyOptions<HttpResponseMessage> Breaker(
        ProcessorHealth health, RoutingOptions routing) => new()
        {
            ShouldHandle = new PredicateBuilder<HttpResponseMessage>()
                .Handle<Exception>()
                // Only these show that the processor itself works; 401 and 404 come from a proxy. One 400 is its
                // payment's fault, many are the processor's.
                .HandleResult(response => (int)response.StatusCode is not (200 or 422)),
            SamplingDuration = TimeSpan.FromSeconds(1),
            MinimumThroughput = 4,
            FailureRatio = 0.25,
            BreakDuration = routing.ProbeInterval,
            StateProvider = health.Circuit,
        };

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var pipeline = request.Method == HttpMethod.Post ? _charges : _lookUps;
        var context = ResilienceContextPool.Shared.Get(cancellationToken);
        try
        {
            var outcome = await pipeline.ExecuteOutcomeAsync(
                static (context, call) => call.Handler.CallAsync(call.Request, context.CancellationToken), context,
                (Handler: this, Request: request));
            outcome.ThrowIfException();
            return outcome.Result!;
        }
        finally
        {
            ResilienceContextPool.Shared.Return(context);
        }
    }

    private static string ReasonOf(Outcome<HttpResponseMessage> outcome) => outcome.Exception is { } failed
        ? $"{failed.Message} {failed.InnerException?.Message}"
        : $"{(int)outcome.Result!.StatusCode}";

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<Outcome<HttpResponseMessage>> CallAsync(HttpRequestMessage request, CancellationToken token)
    {
        HttpResponseMessage? response = null;
        try
        {
            response = await base.SendAsync(request, token);
            using var plain = response.Content;
            response.Content = new Answer(await ReadAsync(plain, token));
            // A proxy may answer 200 with a page. The exception counts as a failure, otherwise the circuit stays closed
            // while nothing is charged.
            if (response.StatusCode == HttpStatusCode.OK && request.Method == HttpMethod.Post
                && ProcessorClient.Read(response, ProcessorJsonContext.Default.ChargeAnswer) is null)
                throw new InvalidDataException("200 with a body that is no answer");

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

    private static partial class Log
    {
        [LoggerMessage(403, LogLevel.Warning, "The circuit of {Processor} opened: {Reason}")]
        public static partial void Opened(ILogger log, Processor processor, string reason);

        [LoggerMessage(404, LogLevel.Information, "The circuit of {Processor} closed")]
        public static partial void Closed(ILogger log, Processor processor);
    }
}

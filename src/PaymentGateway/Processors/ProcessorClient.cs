using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;
using Polly;
using Polly.CircuitBreaker;

namespace PaymentGateway.Processors;

/// <summary>
/// The client of one processor. A time limit covers each call and its answer; a circuit breaker guards charges. No call
/// is retried, because money could be charged twice. Look-ups bypass the breaker, because a failing processor still
/// answers them (contract.md). Safe from any thread.
/// </summary>
internal sealed partial class ProcessorClient : IDisposable
{
    // No answer of the contract is larger; a cut one does not parse, so its payment is in doubt.
    private const int AnswerBytesMax = 4096;

    // The contract's processor asks for 5 s. A date by another clock may lie in the past or a day ahead.
    private const double RetryAfterSecondsMax = 30;

    private static readonly TimeSpan WithoutRetryAfter = TimeSpan.FromSeconds(1);

    private readonly HttpMessageInvoker _http;
    private readonly ResiliencePipeline<ProcessorAnswer> _charges;
    private readonly ResiliencePipeline<ProcessorAnswer> _lookUps;
    private readonly Uri _baseUrl;
    private readonly Uri _payments;
    private readonly string? _adminToken;
    private readonly Lease _lease;
    private readonly GatewayMetrics _metrics;
    private readonly TimeProvider _clock;
    private readonly OutageLog _outage = new();

    /// <param name="connections">Disposed with the client.</param>
    public ProcessorClient(
        ProcessorOptions own, GatewayOptions options, HttpMessageHandler connections, Lease lease,
        GatewayMetrics metrics, TimeProvider clock, ILogger<ProcessorClient> log)
    {
        // No HttpClient, because the gateway needs none of its defaults and its copies cost time.
        _http = new HttpMessageInvoker(connections);
        (_lease, _metrics, _clock) = (lease, metrics, clock);
        (Processor, Health) = (own.Processor, new ProcessorHealth(clock, options.Routing));
        (_baseUrl, _adminToken) = (own.Url, own.AdminToken);
        _payments = new Uri(_baseUrl, "payments");
        var steady = new SteadyClock(clock);
        _lookUps = new ResiliencePipelineBuilder<ProcessorAnswer> { TimeProvider = steady }
            .AddTimeout(own.CallTimeout)
            .Build();
        var breaker = Breaker(Health, options.Routing);
        breaker.OnOpened = opened =>
        {
            var reason = opened.Outcome.Exception is { } failed
                ? $"{failed.Message} {failed.InnerException?.Message}"
                : $"{opened.Outcome.Result!.Status}";
            var level = _outage.Fail(LogLevel.Warning);
            Log.Opened(log, level, Processor, reason);
            return default;
        };
        breaker.OnClosed = _ =>
        {
            _outage.Succeed();
            Log.Closed(log, Processor);
            return default;
        };
        _charges = new ResiliencePipelineBuilder<ProcessorAnswer> { TimeProvider = steady }
            .AddCircuitBreaker(breaker)
            .AddTimeout(own.CallTimeout)
            .Build();
    }

    public Processor Processor { get; }

    public ProcessorHealth Health { get; }

    /// <summary>The circuit breaker's rules; the simulation of routing uses them too.</summary>
    public static CircuitBreakerStrategyOptions<ProcessorAnswer> Breaker(
        ProcessorHealth health, RoutingOptions routing) => new()
        {
            ShouldHandle = new PredicateBuilder<ProcessorAnswer>()
                .Handle<Exception>()
                // Only 200 and 422 show that the processor itself works; 401 and 404 come from a proxy. One 400 is the
                // payment's fault, many are the processor's.
                .HandleResult(answer => answer.Status is not (200 or 422)),
            SamplingDuration = TimeSpan.FromSeconds(1),
            MinimumThroughput = 4,
            FailureRatio = 0.25,
            BreakDuration = routing.ProbeInterval,
            StateProvider = health.Circuit,
        };

    /// <summary>Registers the connections of each processor under its name, and those of a reconciliation.</summary>
    public static void AddConnections(IServiceCollection services, GatewayOptions options)
    {
        foreach (var one in options.Processors.All)
            foreach (var name in new[] { one.Processor.Name, AdminConnections(one.Processor) })
                services.AddHttpClient(name).ConfigurePrimaryHttpMessageHandler(() => Connect(options.Settling))
                    .SetHandlerLifetime(Timeout.InfiniteTimeSpan).RemoveAllLoggers();
    }

    /// <summary>The name of the connections that only a reconciliation uses.</summary>
    public static string AdminConnections(Processor processor) => $"{processor}.Admin";

    private static SocketsHttpHandler Connect(SettlingOptions options) => new()
    {
        ConnectTimeout = options.ConnectTimeout,
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

    /// <summary>Charges once, without a retry.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        using var content = new ChargeContent(payment, _lease);
        content.Headers.TryAddWithoutValidation("Content-Type", "application/json");
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, _payments) { Content = content };
            if (payment.Trace is not null)
                Propagate(request);
            return Judge(await SendAsync(request, _charges));
        }
        catch (BrokenCircuitException)
        {
            return new ChargeOutcome(ChargeResult.NotSent, null, "the circuit is open");
        }
        catch (Exception failed) when (!content.HasBegun)
        {
            // No byte was sent: no connection in time, or the lease has expired.
            return new ChargeOutcome(ChargeResult.Refused, null, failed.Message);
        }
        catch (Exception broken)
        {
            // Bytes may have gone out, whatever the exception.
            return new ChargeOutcome(ChargeResult.InDoubt, null, broken.Message);
        }
    }

    /// <summary>
    /// Asks whether the processor has stored a payment. Its limiter may delay this, its switches do not.
    /// </summary>
    public async Task<LookupOutcome> LookUpAsync(Guid id)
    {
        var answer = await GetAsync(new Uri(_baseUrl, $"payments/{id}"));
        var stored = answer?.Status == 200 ? answer.Read(ProcessorJsonContext.Default.ProcessorPayment) : null;
        var outcome = answer is { Status: 404, IsPage: false } ? new LookupOutcome(LookupResult.NotFound)
            : stored?.CorrelationId == id && Money.TryToCents(stored.Amount, out var cents)
                ? new LookupOutcome(LookupResult.Found, cents, ToUtc(stored.RequestedAt))
                : new LookupOutcome(LookupResult.Unknown, RetryAfter: answer?.RetryAfter);
        _metrics.Calls.Add(1, Processor.Tag, Calls.LookUp, Calls.Of(outcome.Result));
        return outcome;
    }

    /// <summary>Asks for the processor's health report; null when there was none.</summary>
    public async Task<HealthReport?> AskHealthAsync()
    {
        var answer = await GetAsync(new Uri(_baseUrl, "payments/service-health"));
        var told = answer?.Status == 200 ? answer.Read(ProcessorJsonContext.Default.HealthAnswer) : null;
        _metrics.Calls.Add(1, Processor.Tag, Calls.Health, told is null ? Calls.Unknown : Calls.Reported);
        return told is null
            ? null
            : new HealthReport(told.Failing, TimeSpan.FromMilliseconds(told.MinResponseTime), TimeSpan.Zero);
    }

    /// <summary>
    /// Asks, as the processor's administrator, for count and sum of a window of requestedAt; both bounds are inclusive.
    /// </summary>
    public async Task<SummaryOutcome> SumAsync(DateTime from, DateTime to)
    {
        var query = $"?from={from:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}&to={to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}";
        var answer = await GetAsync(new Uri(_baseUrl, "admin/payments-summary" + query), _adminToken);
        var summary = answer?.Status == 200 ? answer.Read(ProcessorJsonContext.Default.AdminSummary) : null;
        _metrics.Calls.Add(1, Processor.Tag, Calls.Summary, summary is null ? Calls.Unknown : Calls.Reported);
        return summary is not null
            ? new SummaryOutcome(SummaryResult.Reported, summary.TotalRequests, summary.TotalAmount * 100m)
            : new SummaryOutcome(answer?.Status is 401 or 403 ? SummaryResult.Refused : SummaryResult.Unknown);
    }

    public void Dispose() => _http.Dispose();

    // Null when no whole answer came in time.
    private async Task<ProcessorAnswer?> GetAsync(Uri url, string? token = null)
    {
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, url);
            if (token is not null)
                request.Headers.TryAddWithoutValidation("X-Rinha-Token", token);
            return await SendAsync(request, _lookUps);
        }
        catch (Exception)
        {
            // No failure shows whether the payment is stored. .NET 8 also throws a bare SocketException when the peer
            // resets a new connection.
            return null;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ProcessorAnswer> SendAsync(
        HttpRequestMessage request, ResiliencePipeline<ProcessorAnswer> pipeline)
    {
        var context = ResilienceContextPool.Shared.Get();
        try
        {
            var outcome = await pipeline.ExecuteOutcomeAsync(
                static (context, call) => call.Client.CallAsync(call.Request, context.CancellationToken), context,
                (Client: this, Request: request));
            outcome.ThrowIfException();
            return outcome.Result!;
        }
        finally
        {
            ResilienceContextPool.Shared.Return(context);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<Outcome<ProcessorAnswer>> CallAsync(HttpRequestMessage request, CancellationToken token)
    {
        try
        {
            using var response = await _http.SendAsync(request, token);
            var status = (int)response.StatusCode;
            var body = await ReadAsync(response.Content, token);
            var answer = new ProcessorAnswer(status, body, status == 200 ? null : RetryAfter(response));
            // A proxy may answer 200 with a page. The exception counts as a failure, otherwise the circuit stays closed
            // while nothing is charged.
            if (status == 200 && request.Method == HttpMethod.Post
                && answer.Read(ProcessorJsonContext.Default.ChargeAnswer) is null)
                throw new InvalidDataException("200 with a body that is no answer");

            return Outcome.FromResult(answer);
        }
        catch (Exception failed)
        {
            return Outcome.FromException<ProcessorAnswer>(failed);
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

    private static ChargeOutcome Judge(ProcessorAnswer answer) => answer.Status switch
    {
        200 => new ChargeOutcome(ChargeResult.Settled),
        422 => new ChargeOutcome(ChargeResult.AlreadyStored, null, "422"),
        429 => new ChargeOutcome(ChargeResult.Refused, answer.RetryAfter ?? WithoutRetryAfter, "429"),
        // The failure switch answers without a body. A body comes from the database path, where the row may already be
        // stored (contract.md, what follows).
        500 when answer.Body.IsEmpty => new ChargeOutcome(ChargeResult.Refused, null, "500"),
        500 => new ChargeOutcome(ChargeResult.InDoubt, null, "500 with a body"),
        400 => new ChargeOutcome(ChargeResult.Rejected, null, "400"),
        // The contract has no other 4xx, so a proxy sent it and may have forwarded the charge before.
        _ => new ChargeOutcome(ChargeResult.InDoubt, null, answer.Status.ToString(CultureInfo.InvariantCulture)),
    };

    // Set here, because the handler would look for a trace at each call.
    private static void Propagate(HttpRequestMessage request)
    {
        if (Activity.Current is not { } span)
            return;

        request.Headers.TryAddWithoutValidation("traceparent", span.Id);
        if (!string.IsNullOrEmpty(span.TraceStateString))
            request.Headers.TryAddWithoutValidation("tracestate", span.TraceStateString);
    }

    private TimeSpan? RetryAfter(HttpResponseMessage response)
    {
        var header = response.Headers.RetryAfter;
        var asked = header?.Delta ?? (header?.Date is { } date ? date - _clock.GetUtcNow() : null);
        return asked is { } wait ? TimeSpan.FromSeconds(Math.Clamp(wait.TotalSeconds, 0, RetryAfterSecondsMax)) : null;
    }

    // A timestamp without a zone is UTC.
    private static DateTime ToUtc(DateTime stamp) => Timestamps.Truncate(stamp.Kind == DateTimeKind.Local
        ? stamp.ToUniversalTime()
        : DateTime.SpecifyKind(stamp, DateTimeKind.Utc));

    /// <summary>
    /// The body of one charge, with the last check that it may be sent. The handler writes it when it has a connection,
    /// and sends the headers together with it.
    /// </summary>
    private sealed class ChargeContent(Payment payment, Lease lease) : ByteArrayContent(
        JsonSerializer.SerializeToUtf8Bytes(
            new ProcessorPayment(payment.Id, payment.Amount, payment.RequestedAt),
            ProcessorJsonContext.Default.ProcessorPayment))
    {
        /// <summary>False: no byte of the charge was sent, not even the headers.</summary>
        public bool HasBegun { get; private set; }

        // The overload with a token calls this one; the handler closes the connection of a call that is cancelled.
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            if (payment.Purged || !lease.IsHeld || !lease.Owns(payment))
                throw new OperationCanceledException("The payment is not this instance's to charge any more.");

            HasBegun = true;
            if (payment.Attempts < short.MaxValue)
                payment.Attempts++;
            return base.SerializeToStreamAsync(stream, context);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 403, Message = "The circuit of {Processor} opened: {Reason}")]
        public static partial void Opened(ILogger log, LogLevel level, Processor processor, string reason);

        [LoggerMessage(404, LogLevel.Information, "The circuit of {Processor} closed")]
        public static partial void Closed(ILogger log, Processor processor);
    }
}

/// <summary>A clock whose UTC time never jumps, because Polly ends a break by it.</summary>
internal sealed class SteadyClock(TimeProvider clock) : TimeProvider
{
    private readonly DateTimeOffset _began = clock.GetUtcNow();
    private readonly long _beganAt = clock.GetTimestamp();

    public override long TimestampFrequency => clock.TimestampFrequency;

    public override DateTimeOffset GetUtcNow() => _began + clock.GetElapsedTime(_beganAt);

    public override long GetTimestamp() => clock.GetTimestamp();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        clock.CreateTimer(callback, state, dueTime, period);
}

using System.Runtime.CompilerServices;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using Polly;

namespace PaymentGateway.Charging;

/// <summary>
/// The client of one processor. A time limit covers each call and its answer. Every charge is told to the processor's
/// health, which holds the circuit breaker. No call is retried, because money could be charged twice. Look-ups are not
/// told, because a failing processor still answers them (contract.md). Safe from any thread.
/// </summary>
internal sealed partial class ProcessorClient : IDisposable
{
    /// <summary>No answer of the contract is larger; a cut one does not parse, so its payment is in doubt.</summary>
    public const int AnswerBytesMax = 4096;

    // A processor that asks for more is asked again after this time, because a wrong or hostile answer must not keep
    // payments from it for longer (docs/processor-api.yaml).
    private const double RetryAfterSecondsMax = 300;

    private static readonly TimeSpan WarnEvery = TimeSpan.FromMinutes(1);

    private static readonly TimeSpan WithoutRetryAfter = TimeSpan.FromSeconds(1);

    private readonly HttpMessageInvoker _http;
    private readonly ResiliencePipeline<ProcessorAnswer> _timeLimit;
    private readonly Uri _baseUrl;
    private readonly Uri _payments;
    private readonly string? _adminToken;
    private readonly Lease _lease;
    private readonly GatewayMetrics _metrics;
    private readonly TimeProvider _clock;
    private readonly ILogger _log;
    private readonly OutageLog _outage = new();
    private long _warnedAt; // When an unreadable answer was last logged; 0 before.

    /// <param name="connections">Disposed with the client.</param>
    public ProcessorClient(
        ProcessorOptions own, GatewayOptions options, HttpMessageHandler connections, Lease lease,
        GatewayMetrics metrics, TimeProvider clock, ILogger<ProcessorClient> log)
    {
        // No HttpClient, because the gateway needs none of its defaults and its copies cost time.
        _http = new HttpMessageInvoker(connections);
        (_lease, _metrics, _clock, _log) = (lease, metrics, clock, log);
        (Processor, Health) = (own.Processor, new ProcessorHealth(clock, options.Routing));
        (_baseUrl, _adminToken) = (own.Url, own.AdminToken);
        _payments = new Uri(_baseUrl, "payments");
        _timeLimit = new ResiliencePipelineBuilder<ProcessorAnswer> { TimeProvider = clock }
            .AddTimeout(own.CallTimeout)
            .Build();
    }

    public Processor Processor { get; }

    public ProcessorHealth Health { get; }

    /// <summary>Whether an answer to a look-up could not be read in the last two minutes.</summary>
    public bool AnswersUnreadably => Volatile.Read(ref _warnedAt) is not 0 and var warnedAt
        && _clock.GetElapsedTime(warnedAt) < WarnEvery * 2;

    /// <summary>Charges once, without a retry.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        using var content = new ChargeContent(payment, _lease);
        content.Headers.TryAddWithoutValidation("Content-Type", "application/json");
        var (probe, sentAt) = (Health.Begin(), _clock.GetTimestamp());
        ChargeOutcome outcome;
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, _payments) { Content = content };
            if (payment.Trace is not null)
                Propagate(request);
            outcome = Judge(await SendAsync(request));
        }
        catch (Exception failed)
        {
            // Without a byte sent nothing is stored: there was no connection in time, or the epoch may not charge any
            // more. After the first byte the payment may be stored, whatever the exception.
            outcome = new ChargeOutcome(
                content.HasBegun ? ChargeResult.Unclear : ChargeResult.Refused, null,
                failed.InnerException is { } inner ? $"{failed.Message} {inner.Message}" : failed.Message);
        }

        if (content.IsWithheld)
        {
            Health.EndUnsent(probe);
            return outcome;
        }

        // Only 200 and 422 show that the processor itself works; 401 and 404 come from a proxy.
        var isAnswered = outcome.Result is ChargeResult.Settled or ChargeResult.AlreadyStored;
        var took = _clock.GetElapsedTime(sentAt);
        Note(Health.End(probe, isAnswered ? took : null, outcome.RetryAfter, took), outcome.Reason);
        return outcome;
    }

    private void Note(CircuitChange change, string? reason)
    {
        if (change == CircuitChange.Opened)
        {
            var level = _outage.Fail(LogLevel.Warning);
            Log.Opened(_log, level, Processor, reason);
        }
        else if (change == CircuitChange.Closed)
        {
            _outage.Succeed();
            Log.Closed(_log, Processor);
        }
    }

    /// <summary>
    /// Asks whether the processor has stored a payment. Its limiter may delay this, its switches do not.
    /// </summary>
    public async Task<LookupOutcome> LookUpAsync(Guid id)
    {
        var answer = await GetAsync(new Uri(_baseUrl, $"payments/{id}"));
        var stored = answer?.ReadStored();
        var isAbsent = answer is { Status: 404, IsPage: false, IsCached: false };
        var outcome = isAbsent ? new LookupOutcome(LookupResult.NotFound)
            : stored?.CorrelationId == id && Money.TryToCents(stored.Amount, out var cents)
                ? new LookupOutcome(LookupResult.Found, cents, stored.RequestedAt)
                : new LookupOutcome(
                    answer is null or { Status: 429 } ? LookupResult.Unknown : LookupResult.Unreadable,
                    RetryAfter: answer?.RetryAfter);
        if (outcome.Result == LookupResult.Unreadable)
            WarnOf(answer!);
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
            ? new SummaryOutcome(
                SummaryResult.Reported, summary.TotalRequests, Money.WithoutNoise(summary.TotalAmount) * 100m)
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
            return await SendAsync(request);
        }
        catch (Exception)
        {
            // No failure shows whether the payment is stored. .NET 8 also throws a bare SocketException when the peer
            // resets a new connection.
            return null;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ProcessorAnswer> SendAsync(HttpRequestMessage request)
    {
        var context = ResilienceContextPool.Shared.Get();
        try
        {
            var outcome = await _timeLimit.ExecuteOutcomeAsync(
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
            request.Headers.TryAddWithoutValidation("User-Agent", GatewayOptions.UserAgent);
            if (request.Method == HttpMethod.Get)
                request.Headers.TryAddWithoutValidation("Cache-Control", "no-cache");
            using var response = await _http.SendAsync(request, token);
            var status = (int)response.StatusCode;
            var body = await ReadAsync(response.Content, token);
            var answer = new ProcessorAnswer(
                status, body, status == 200 ? null : RetryAfter(response), response.Headers.Age is not null);
            // A proxy may answer 200 with a page, and nothing is charged.
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
        500 => new ChargeOutcome(ChargeResult.Unclear, null, "500 with a body"),
        400 => new ChargeOutcome(ChargeResult.Rejected, null, "400"),
        // The contract has no other 4xx, so a proxy sent it and may have forwarded the charge before.
        _ => new ChargeOutcome(ChargeResult.Unclear, null, answer.Status.ToString(CultureInfo.InvariantCulture)),
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

    // One line a minute, because each payment in doubt repeats its look-up every few seconds.
    private void WarnOf(ProcessorAnswer answer)
    {
        var (now, before) = (_clock.GetTimestamp(), Volatile.Read(ref _warnedAt));
        if ((before == 0 || _clock.GetElapsedTime(before, now) >= WarnEvery)
            && Interlocked.CompareExchange(ref _warnedAt, now, before) == before)
            Log.LookUpUnreadable(_log, Processor, answer.Show());
    }

    // A date counts from the answer's own, because the processor's clock may differ from this one.
    private TimeSpan? RetryAfter(HttpResponseMessage response)
    {
        var header = response.Headers.RetryAfter;
        var asked = header?.Delta
            ?? (header?.Date is { } date ? date - (response.Headers.Date ?? _clock.GetUtcNow()) : null);
        return asked is { } wait ? TimeSpan.FromSeconds(Math.Clamp(wait.TotalSeconds, 0, RetryAfterSecondsMax)) : null;
    }

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

        /// <summary>The last check failed, so this instance sent nothing.</summary>
        public bool IsWithheld { get; private set; }

        // The overload with a token calls this one; the handler closes the connection of a call that is cancelled.
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            IsWithheld = !lease.MayCharge(payment);
            if (IsWithheld)
                throw new OperationCanceledException("The payment is not this instance's to charge any more.");

            payment.Send();
            HasBegun = true;
            return base.SerializeToStreamAsync(stream, context);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(EventId = 403, Message = "The circuit of {Processor} opened: {Reason}")]
        public static partial void Opened(ILogger log, LogLevel level, Processor processor, string? reason);

        [LoggerMessage(404, LogLevel.Information, "The circuit of {Processor} closed")]
        public static partial void Closed(ILogger log, Processor processor);

        [LoggerMessage(414, LogLevel.Warning, "An answer of {Processor} to a look-up cannot be read: {Answer}")]
        public static partial void LookUpUnreadable(ILogger log, Processor processor, string answer);
    }
}

using System.Runtime.CompilerServices;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;

namespace PaymentGateway.Charging;

/// <summary>One processor with its client, its health, and its permits for charges and look-ups.</summary>
internal sealed partial class ProcessorLane(
    ProcessorOptions own, GatewayOptions options, HttpMessageHandler connections, Lease lease, GatewayMetrics metrics,
    TimeProvider clock, ILogger<ProcessorClient> log) : IDisposable
{
    private static readonly TimeSpan TriedAgainAfter = TimeSpan.FromMinutes(5);

    private readonly ConcurrencyLimit _charges = new(clock, own.MaxConcurrency);

    // Separate permits, because look-ups must get through while charges wait.
    private readonly SemaphoreSlim _lookups = new(options.Settling.LookupConcurrency);

    private volatile KnownPayment? _known;
    private bool _lookUpsFail;
    private long _lookUpsPauseUntil;
    private long _chargedAt;
    private int _repeatsAlone;

    public Processor Processor => own.Processor;

    public ProcessorClient Client { get; } = new(own, options, connections, lease, metrics, clock, log);

    public ProcessorHealth Health => Client.Health;

    /// <summary>False: the processor gets no charges any more.</summary>
    public bool IsEnabled => own.IsEnabled;

    /// <summary>After this time no earlier call will be stored.</summary>
    public TimeSpan Horizon => own.InDoubtHorizon;

    /// <summary>
    /// A payment that this instance knows to be stored there; null before the first one. Payments that follow within a
    /// fifth of a horizon do not replace it, otherwise look-ups of a replica that is a little late would never find it.
    /// </summary>
    public KnownPayment? Known => _known;

    /// <summary>
    /// Whether the newest look-up had no answer that says where the payment is. For at most five minutes after a
    /// charge, because look-ups that are broken for good must not keep charges away for ever.
    /// </summary>
    public bool LookUpsFail =>
        Volatile.Read(ref _lookUpsFail) && clock.GetElapsedTime(Volatile.Read(ref _chargedAt)) < TriedAgainAfter;

    /// <summary>Takes a permit for one charge; <see cref="ChargeAsync"/> gives it back.</summary>
    public bool TryAcquire() => _charges.TryAcquire();

    /// <summary>
    /// Charges once, with a permit taken before. The payment is in doubt afterwards unless the answer says otherwise.
    /// </summary>
    /// <exception cref="BrokenLifeException">The payment may not be charged here; nothing else is thrown.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        var sentAt = clock.GetTimestamp();
        Volatile.Write(ref _chargedAt, sentAt);
        // Bytes may have gone out, unless an answer says otherwise.
        var outcome = new ChargeOutcome(ChargeResult.Unclear, null, "the charge broke");
        try
        {
            payment.Charge(Processor, clock.UtcMicroseconds());
            using var span = payment.Trace?.StartCharge(payment.AcceptedAt);
            outcome = await Client.ChargeAsync(payment);
            span?.SetTag(Processor.Tag.Key, Processor.Tag.Value).SetTag("outcome", Calls.Of(outcome.Result).Value);
            metrics.Calls.Add(1, Processor.Tag, Calls.Charge, Calls.Of(outcome.Result));
            metrics.CallDuration.Record(clock.GetElapsedTime(sentAt).TotalSeconds, Processor.Tag);
        }
        catch (Exception unexpected) when (unexpected is not BrokenLifeException)
        {
            // Of a listener to traces or metrics, for example: what the processor has answered counts all the same.
            Log.ChargeBroke(log, payment, Processor, unexpected);
        }

        finally
        {
            var answered = outcome.Result is ChargeResult.Settled or ChargeResult.AlreadyStored;
            TimeSpan? latency = answered ? clock.GetElapsedTime(sentAt) : null;
            _charges.Release(latency, outcome.Result == ChargeResult.Unclear || outcome.RetryAfter is not null);
        }

        var next = payment.Answer(Processor, outcome.Result, clock.GetTimestamp());
        if (next == NextStep.Record
            && !(_known is { } known && clock.GetElapsedTime(known.SentAt, sentAt) <= Horizon / 5))
            _known = new KnownPayment(payment.Id, sentAt);
        return outcome with { Next = next };
    }

    /// <returns>Unknown at once during a pause that the processor asked for, so that others are not kept
    /// waiting.</returns>
    public async Task<LookupOutcome> LookUpAsync(Payment payment, CancellationToken cancellation)
    {
        if (clock.GetTimestamp() < Volatile.Read(ref _lookUpsPauseUntil))
            return new LookupOutcome(LookupResult.Unknown);

        await _lookups.WaitAsync(cancellation);
        try
        {
            using var span = payment.Trace?.Start("look_up", ActivityKind.Client);
            var outcome = await Client.LookUpAsync(payment.Id);
            span?.SetTag(Processor.Tag.Key, Processor.Tag.Value).SetTag("outcome", Calls.Of(outcome.Result).Value);
            Volatile.Write(ref _lookUpsFail, outcome.Result is LookupResult.Unknown or LookupResult.Unreadable);
            if (outcome.RetryAfter is { } pause)
                Volatile.Write(ref _lookUpsPauseUntil, clock.GetTimestamp() + clock.TicksOf(pause));
            return outcome;
        }
        finally
        {
            _lookups.Release();
        }
    }

    /// <summary>
    /// Begins a repeat that nothing proves to be needed. One is sent at a time, because its 200 makes a known payment,
    /// by which other doubts of that age end without a charge.
    /// </summary>
    /// <returns>False while another one is in flight; otherwise <see cref="EndRepeatAlone"/> follows.</returns>
    public bool TryBeginRepeatAlone() => Interlocked.Exchange(ref _repeatsAlone, 1) == 0;

    public void EndRepeatAlone() => Volatile.Write(ref _repeatsAlone, 0);

    /// <summary>The state as the metrics name it, without durations.</summary>
    public LaneReading Read()
    {
        var state = Health.Read();
        var availability = (state.Availability, Health.ReadLiveness()) switch
        {
            _ when !IsEnabled => "disabled",
            (Availability.Usable, Liveness.Alive) => "usable",
            (Availability.Usable, Liveness.Unknown) => "unknown",
            (Availability.Probe, _) => "probe",
            _ => "unusable",
        };
        return new LaneReading(
            Processor.Name, JsonNamingPolicy.SnakeCaseLower.ConvertName($"{Health.Circuit}"), availability,
            state.ExpectedLatency.TotalSeconds, _charges.InFlight, _charges.Current, [],
            Client.AnswersUnreadably);
    }

    public void Dispose()
    {
        Client.Dispose();
        _lookups.Dispose();
    }

    private static partial class Log
    {
        [LoggerMessage(407, LogLevel.Error,
            "An unexpected exception broke the charge of payment {CorrelationId} at {Processor}")]
        public static partial void ChargeBroke(
            ILogger log, Payment correlationId, Processor processor, Exception unexpected);
    }
}

/// <summary>A payment whose charge was answered by 200.</summary>
/// <param name="SentAt">Monotonic timestamp from before the charge was sent.</param>
internal sealed record KnownPayment(Guid Id, long SentAt);

/// <summary>The lanes of all processors, in order of their fees.</summary>
internal sealed class ProcessorLanes(
    GatewayOptions options, IHttpMessageHandlerFactory connections, Lease lease, GatewayMetrics metrics,
    TimeProvider clock, ILogger<ProcessorClient> log) : IDisposable
{
    private List<ProcessorLane>? _enabled;

    public IReadOnlyList<ProcessorLane> All { get; } = options.Processors.All.Select(own => new ProcessorLane(
        own, options, connections.CreateHandler(own.Processor.Name), lease, metrics, clock, log)).ToList();

    /// <summary>The lanes of processors that may be charged.</summary>
    public IReadOnlyList<ProcessorLane> Enabled => _enabled ??= All.Where(lane => lane.IsEnabled).ToList();

    public ProcessorLane Of(Processor processor) => All.First(lane => lane.Processor.Name == processor.Name);

    /// <summary>The lanes of a set, without processors that are not configured any more.</summary>
    public List<ProcessorLane> In(ProcessorSet set) => All.Where(lane => set.Contains(lane.Processor)).ToList();

    /// <summary>The longest horizon of a set's processors.</summary>
    public TimeSpan HorizonOf(ProcessorSet set)
    {
        var longest = TimeSpan.Zero;
        foreach (var lane in All)
            if (set.Contains(lane.Processor) && lane.Horizon > longest)
                longest = lane.Horizon;
        return longest;
    }

    /// <summary>
    /// A client for reconciliation on connections of its own, so that its calls and charges never wait for each other.
    /// </summary>
    public ProcessorClient NewAdminClient(ProcessorOptions own) => new(
        own, options, connections.CreateHandler(ProcessorConnections.AdminName(own.Processor)), lease, metrics,
        clock, log);

    public void Dispose()
    {
        foreach (var lane in All)
            lane.Dispose();
    }
}

using System.Runtime.CompilerServices;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Processors;

/// <summary>One processor with everything that guards it: health, client, permits for charges and look-ups.</summary>
internal sealed class ProcessorLane(
    Processor processor, GatewayOptions options, HttpMessageHandler connections, Lease lease, GatewayMetrics metrics,
    TimeProvider clock, ILogger<ProcessorClient> log) : IDisposable
{
    // The breaker's clock and ours may differ by a moment; without a pause the next try would be thrown back as well.
    private static readonly TimeSpan BreakerSettles = TimeSpan.FromMilliseconds(50);

    private readonly ConcurrencyLimit _charges = new(clock, options.Settling.MaxConcurrency);

    // Permits of their own: look-ups share the processor's limiter and must get through while charges wait.
    private readonly SemaphoreSlim _lookups = new(options.Settling.LookupConcurrency);

    private readonly KeyValuePair<string, object?> _tag = Tags.Of(processor);

    public Processor Processor => processor;

    public ProcessorClient Client { get; } = new(
        processor, options, connections, lease, metrics, clock, log);

    public ProcessorHealth Health => Client.Health;

    /// <summary>Takes a permit for one charge; <see cref="ChargeAsync"/> gives it back.</summary>
    public bool TryAcquire() => _charges.TryAcquire();

    /// <summary>
    /// Charges once, with a permit taken before. The payment is in doubt afterwards unless the answer says otherwise.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        var (wasInDoubt, doubtSince) = (payment.InDoubt, payment.DoubtSince);
        var probe = Health.Begin();
        var sentAt = clock.GetTimestamp();
        payment.InDoubt = true;
        payment.ChargedAt = Processor;
        payment.DoubtSince = sentAt;
        using var span = payment.Trace?.StartCharge(payment.AcceptedAt);
        var outcome = await Client.ChargeAsync(payment);
        span?.SetTag(_tag.Key, _tag.Value).SetTag("outcome", Calls.Of(outcome.Result).Value);
        var answered = outcome.Result is ChargeResult.Settled or ChargeResult.AlreadyStored;
        var took = clock.GetElapsedTime(sentAt);
        TimeSpan? latency = answered ? took : null;
        metrics.Calls.Add(1, _tag, Calls.Charge, Calls.Of(outcome.Result));
        if (outcome.Result != ChargeResult.NotSent)
            metrics.CallDuration.Record(took.TotalSeconds, _tag);
        Health.End(probe, latency, outcome.Result == ChargeResult.NotSent ? BreakerSettles : outcome.RetryAfter);
        _charges.Release(latency, outcome.Result == ChargeResult.InDoubt || outcome.RetryAfter is not null);
        // A terminated owner's doubt may lie ahead.
        payment.DoubtSince = Math.Max(clock.GetTimestamp(), doubtSince);
        // A refused repetition neither resolves the call before it nor makes it younger.
        if (outcome.Result is ChargeResult.Refused or ChargeResult.Rejected or ChargeResult.NotSent)
            (payment.InDoubt, payment.DoubtSince) = (wasInDoubt, doubtSince);

        return outcome;
    }

    public async Task<LookupOutcome> LookUpAsync(Payment payment, CancellationToken cancellation)
    {
        await _lookups.WaitAsync(cancellation);
        try
        {
            using var span = payment.Trace?.Start("look_up", ActivityKind.Client);
            var outcome = await Client.LookUpAsync(payment.Id);
            span?.SetTag(_tag.Key, _tag.Value).SetTag("outcome", Calls.Of(outcome.Result).Value);
            return outcome;
        }
        finally
        {
            _lookups.Release();
        }
    }

    /// <summary>The state in the words of the metrics, without durations.</summary>
    public LaneReading Read()
    {
        var state = Health.Read();
        var availability = (state.Availability, Health.ReadLiveness()) switch
        {
            (Availability.Usable, Liveness.Alive) => "usable",
            (Availability.Usable, Liveness.Unknown) => "unknown",
            (Availability.Probe, _) => "probe",
            _ => "unusable",
        };
        return new LaneReading(
            JsonNamingPolicy.SnakeCaseLower.ConvertName($"{Health.Circuit.CircuitState}"), availability,
            state.ExpectedLatency.TotalSeconds, _charges.InFlight, _charges.Current, []);
    }

    public void Dispose()
    {
        Client.Dispose();
        _lookups.Dispose();
    }
}

/// <summary>The lanes of both processors.</summary>
internal sealed class ProcessorLanes(
    GatewayOptions options, IHttpMessageHandlerFactory connections, Lease lease, GatewayMetrics metrics,
    TimeProvider clock, ILogger<ProcessorClient> log) : IDisposable
{
    public ProcessorLane Default { get; } = new(
        Processor.Default, options, connections.CreateHandler(nameof(Processor.Default)), lease, metrics, clock, log);

    public ProcessorLane Fallback { get; } = new(
        Processor.Fallback, options, connections.CreateHandler(nameof(Processor.Fallback)), lease, metrics, clock, log);

    public ProcessorLane Of(Processor processor) => processor == Processor.Default ? Default : Fallback;

    /// <summary>
    /// A client for reconciliation. Its connection, time limit and breaker are its own, so its calls cannot affect
    /// charges.
    /// </summary>
    public ProcessorClient NewAdminClient(Processor processor) => new(
        processor, options, connections.CreateHandler(ProcessorClient.AdminConnections(processor)), lease, metrics,
        clock, log);

    public void Dispose()
    {
        Default.Dispose();
        Fallback.Dispose();
    }
}

/// <summary>
/// How many charges may be in flight at one processor: grows while they go well, halves when the processor is
/// overloaded (additive increase, multiplicative decrease, with a slow start as in RFC 5681). Safe from any thread.
/// </summary>
/// <remarks>The framework's ConcurrencyLimiter cannot change its limit.</remarks>
internal sealed class ConcurrencyLimit(TimeProvider clock, int most)
{
    private const double Least = 4;

    private static readonly TimeSpan BetweenDecreases = TimeSpan.FromMilliseconds(250);

    private readonly object _gate = new();
    private double _limit = Math.Min(16, most);
    private bool _slowStart = true;
    private int _inFlight;
    private long _decreasedAt;
    private long? _refusedAt;

    public int InFlight => Volatile.Read(ref _inFlight);

    public int Current => (int)Volatile.Read(ref _limit);

    public bool TryAcquire()
    {
        lock (_gate)
        {
            if (_inFlight >= (int)_limit)
            {
                _refusedAt = clock.GetTimestamp();
                return false;
            }

            _inFlight++;
            return true;
        }
    }

    /// <param name="latency">Null when the call failed.</param>
    /// <param name="overloaded">The processor answered 429, or not in time.</param>
    public void Release(TimeSpan? latency, bool overloaded)
    {
        lock (_gate)
        {
            _inFlight--;
            var now = clock.GetTimestamp();
            // A longer latency alone is no overload: a processor's delay changes by itself, and a halved limit then
            // leaves a backlog.
            if (overloaded)
                Decrease_NeedsLock(now);
            else if (latency is { } flight && WasRefused_NeedsLock(flight, now))
                _limit = Math.Min(most, _limit + (_slowStart ? 1 : 1 / _limit));
        }
    }

    // The permits of this moment do not count: charges begin together, and most answers find some left.
    private bool WasRefused_NeedsLock(TimeSpan during, long now) =>
        _refusedAt is { } at && clock.GetElapsedTime(at, now) <= during;

    private void Decrease_NeedsLock(long now)
    {
        // One decrease per burst: the calls already in flight tell of the same congestion.
        if (_decreasedAt != 0 && clock.GetElapsedTime(_decreasedAt, now) < BetweenDecreases)
            return;

        _slowStart = false;
        _limit = Math.Max(Math.Min(Least, most), _limit / 2);
        _decreasedAt = now;
    }
}

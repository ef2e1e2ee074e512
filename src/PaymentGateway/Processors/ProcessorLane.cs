using System.Runtime.CompilerServices;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Processors;

/// <summary>One processor with everything that guards it: health, client, permits for charges and look-ups.</summary>
internal sealed class ProcessorLane(
    ProcessorClient client, ProcessorHealth health, SettlingOptions options, GatewayMetrics metrics,
    TimeProvider clock) : IDisposable
{
    // The breaker's clock and ours may differ by a moment; without a pause the next try would be thrown back as well.
    private static readonly TimeSpan BreakerSettles = TimeSpan.FromMilliseconds(50);

    private readonly ConcurrencyLimit _charges = new(clock, options.MaxConcurrency);

    // Permits of their own: look-ups share the processor's limiter and must get through while charges wait.
    private readonly SemaphoreSlim _lookups = new(options.LookupConcurrency);

    private readonly KeyValuePair<string, object?> _tag = Tags.Of(client.Processor);

    public Processor Processor => client.Processor;

    public ProcessorHealth Health => health;

    public ProcessorClient Client => client;

    /// <summary>Takes a permit for one charge; <see cref="ChargeAsync"/> gives it back.</summary>
    public bool TryAcquire() => _charges.TryAcquire();

    /// <summary>
    /// Charges once, with a permit taken before. A payment leaves this in doubt unless the answer says otherwise.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ChargeOutcome> ChargeAsync(Payment payment)
    {
        var (wasInDoubt, doubtSince) = (payment.InDoubt, payment.DoubtSince);
        var probe = health.Begin();
        var sentAt = clock.GetTimestamp();
        payment.InDoubt = true;
        payment.ChargedAt = Processor;
        payment.DoubtSince = sentAt;
        using var span = payment.Trace?.StartCharge(payment.AcceptedAt);
        var outcome = await client.ChargeAsync(payment);
        span?.Tell(_tag, Calls.Of(outcome.Result).Value);
        var answered = outcome.Result is ChargeResult.Settled or ChargeResult.AlreadyStored;
        var took = clock.GetElapsedTime(sentAt);
        TimeSpan? latency = answered ? took : null;
        metrics.Calls.Add(1, _tag, Calls.Charge, Calls.Of(outcome.Result));
        if (outcome.Result != ChargeResult.NotSent)
            metrics.CallDuration.Record(took.TotalSeconds, _tag);
        health.End(probe, latency, outcome.Result == ChargeResult.NotSent ? BreakerSettles : outcome.RetryAfter);
        _charges.Release(latency, outcome.Result == ChargeResult.InDoubt || outcome.RetryAfter is not null);
        // That of a terminated owner may lie ahead.
        payment.DoubtSince = Math.Max(clock.GetTimestamp(), doubtSince);
        // A refused repetition says nothing of the call before it, and that one is no younger for it.
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
            var outcome = await client.LookUpAsync(payment.Id);
            span?.Tell(_tag, Calls.Of(outcome.Result).Value);
            return outcome;
        }
        finally
        {
            _lookups.Release();
        }
    }

    /// <summary>The processor's state as routing sees it, in the words of the metrics, without durations.</summary>
    public LaneReading Read()
    {
        var state = health.Read();
        var availability = (state.Availability, health.ReadLiveness()) switch
        {
            (Availability.Usable, Liveness.Alive) => "usable",
            (Availability.Usable, Liveness.Unknown) => "unknown",
            (Availability.Probe, _) => "probe",
            _ => "unusable",
        };
        return new LaneReading(
            JsonNamingPolicy.SnakeCaseLower.ConvertName($"{health.Circuit.CircuitState}"), availability,
            state.ExpectedLatency.TotalSeconds, _charges.InFlight, _charges.Current, []);
    }

    public void Dispose()
    {
        client.Dispose();
        _lookups.Dispose();
    }
}

/// <summary>The lanes of both processors.</summary>
internal sealed class ProcessorLanes : IDisposable
{
    public ProcessorLanes(
        GatewayOptions options, IHttpMessageHandlerFactory connections, Lease lease, GatewayMetrics metrics,
        TimeProvider clock, ILogger<ProcessorClient> log)
    {
        Default = LaneOf(Processor.Default);
        Fallback = LaneOf(Processor.Fallback);

        ProcessorLane LaneOf(Processor processor)
        {
            var health = new ProcessorHealth(clock, options.Routing);
            var client = new ProcessorClient(
                processor, options, connections.CreateHandler(processor.ToString()), health, lease, metrics, clock,
                log);
            return new ProcessorLane(client, health, options.Settling, metrics, clock);
        }
    }

    public ProcessorLane Default { get; }

    public ProcessorLane Fallback { get; }

    public ProcessorLane Of(Processor processor) => processor == Processor.Default ? Default : Fallback;

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

    /// <param name="latency">How long the call took when it went well, else null.</param>
    /// <param name="overloaded">The processor said 429, or did not answer in time.</param>
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

    // Not whether all permits are taken at this moment: charges begin together, and most answers find some left.
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

using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.Json;
using PaymentGateway.Configuration;
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
    /// <param name="payment">Its RequestedAt goes out with it.</param>
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

    /// <summary>Asks whether a payment is stored here.</summary>
    public async Task<LookupOutcome> LookUpAsync(Payment payment, CancellationToken cancellation)
    {
        await _lookups.WaitAsync(cancellation);
        try
        {
            using var span = payment.Trace?.Start("look_up", ActivityKind.Client);
            var outcome = await client.LookUpAsync(payment.Id);
            span?.Tell(_tag, Calls.Of(outcome.Result).Value);
            metrics.Calls.Add(1, _tag, Calls.LookUp, Calls.Of(outcome.Result));
            return outcome;
        }
        finally
        {
            _lookups.Release();
        }
    }

    /// <summary>Asks for the processor's health report; null when there was none.</summary>
    public async Task<HealthReport?> AskHealthAsync()
    {
        var report = await client.AskHealthAsync();
        metrics.Calls.Add(1, _tag, Calls.Health, Calls.Of(report));
        return report;
    }

    /// <summary>What routing knows of the processor now, in the words of the metrics; without its durations.</summary>
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

    public void Dispose() => _lookups.Dispose();
}

/// <summary>The lanes of both processors.</summary>
internal sealed class ProcessorLanes(ProcessorLane defaultLane, ProcessorLane fallbackLane)
{
    public ProcessorLane Default { get; } = defaultLane;

    public ProcessorLane Fallback { get; } = fallbackLane;

    public ProcessorLane Of(Processor processor) => processor == Processor.Default ? Default : Fallback;
}

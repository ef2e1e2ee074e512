using System.Diagnostics.Metrics;

namespace PaymentGateway.Telemetry;

/// <summary>The instruments that read the state of this instance when somebody asks.</summary>
internal static class StateGauges
{
    /// <summary>The states of a circuit breaker.</summary>
    public static readonly string[] Circuits = ["closed", "half_open", "open", "isolated"];

    /// <summary>The state of a processor: usable, unknown, probe or unusable.</summary>
    public static readonly string[] Availabilities = ["usable", "unknown", "probe", "unusable"];

    private static readonly Processor[] Both = Enum.GetValues<Processor>();

    public static void AddStateGauges(this Meter meter, IGatewayState state)
    {
        meter.Gauge("backlog.payments", "{payment}", "Payments in memory that are not settled.",
            () => state.Unsettled);
        meter.Gauge("backlog.queued", "{payment}", "Those of them that wait to be charged.", () => state.Queued);
        meter.Gauge("backlog.age", "s", "Age of the oldest payment that is not settled, also in the table.",
            () => state.OldestAge.TotalSeconds);
        meter.Gauge("backlog.overflow", null, "1 while further payments wait in the table.",
            () => state.HasOverflow ? 1 : 0);
        meter.Gauge("payments.in_doubt", "{payment}", "Payments that were perhaps charged.", () => state.InDoubt);
        // None is told before it is known: a 0 would end an alert.
        meter.CreateObservableGauge(
            "payment_gateway.parked.payments",
            () => state.Parked is { } parked ? [new Measurement<long>(parked)] : Array.Empty<Measurement<long>>(),
            "{payment}", "Payments that are parked now, in the whole ledger, up to 10,000.");
        meter.Gauge("outcomes.unwritten", "{payment}", "Outcomes that are not in the ledger yet.",
            () => state.Unwritten);
        meter.Gauge("lease.held", null, "1 while this instance may charge.", () => state.IsLeaseHeld ? 1 : 0);
        meter.Gauge("ledger.reset", null, "1 from a crash that emptied the ledger to the next purge.",
            () => state.IsLedgerReset ? 1 : 0);

        meter.GaugePerProcessor(state, "expected_latency", "s", "How long a charge is expected to take.",
            reading => reading.ExpectedLatency.TotalSeconds);
        meter.GaugePerProcessor(state, "in_flight", "{call}", "Charges in flight.", reading => reading.InFlight);
        meter.GaugePerProcessor(state, "limit", "{call}", "How many charges may be in flight.",
            reading => reading.Limit);
        meter.StateSet(state, "circuit", "1 for the state of the circuit breaker, 0 for the others.", Circuits,
            reading => reading.Circuit);
        meter.StateSet(state, "availability", "1 for whether it can be used, 0 for the others.",
            Availabilities, reading => reading.Availability);
    }

    private static void Gauge(this Meter meter, string name, string? unit, string description, Func<double> read) =>
        meter.CreateObservableGauge("payment_gateway." + name, read, unit, description);

    private static void GaugePerProcessor(
        this Meter meter, IGatewayState state, string name, string unit, string description,
        Func<ProcessorReading, double> read) =>
        meter.CreateObservableGauge(
            "payment_gateway.processor." + name,
            () => Array.ConvertAll(Both, processor => new Measurement<double>(
                read(state.Read(processor)), Tags.Of(processor))),
            unit, description);

    private static void StateSet(
        this Meter meter, IGatewayState state, string name, string description, string[] all,
        Func<ProcessorReading, string> read) =>
        meter.CreateObservableGauge(
            "payment_gateway.processor." + name,
            () => Both.SelectMany(processor =>
            {
                var current = read(state.Read(processor));
                return all.Select(one => new Measurement<double>(
                    one == current ? 1 : 0, Tags.Of(processor), new("state", one)));
            }),
            null, description);
}

/// <summary>What the gauges of this instance read, whenever somebody asks for them. Safe from any thread.</summary>
internal interface IGatewayState
{
    /// <summary>Payments in memory that are not in the ledger yet.</summary>
    int Unsettled { get; }

    /// <summary>Payments in memory that wait to be charged.</summary>
    int Queued { get; }

    /// <summary>The age of the oldest payment that is not settled, in memory or table; zero without one.</summary>
    TimeSpan OldestAge { get; }

    /// <summary>Further payments wait in the table.</summary>
    bool HasOverflow { get; }

    /// <summary>Payments in memory that are in doubt.</summary>
    int InDoubt { get; }

    /// <summary>Payments that are parked in the whole ledger, as the database last said; null until it did.</summary>
    long? Parked { get; }

    /// <summary>Outcomes in memory that are not in the ledger yet.</summary>
    int Unwritten { get; }

    bool IsLeaseHeld { get; }

    /// <summary>A crash of the database has emptied the ledger, and no purge has begun a new one.</summary>
    bool IsLedgerReset { get; }

    /// <summary>What routing knows of a processor.</summary>
    ProcessorReading Read(Processor processor);
}

/// <summary>One processor as routing knows it, at one moment.</summary>
/// <param name="Circuit">One of <see cref="StateGauges.Circuits"/>.</param>
/// <param name="Availability">One of <see cref="StateGauges.Availabilities"/>.</param>
/// <param name="ExpectedLatency">How long a charge is expected to take.</param>
/// <param name="InFlight">Charges in flight.</param>
/// <param name="Limit">How many may be in flight.</param>
internal readonly record struct ProcessorReading(
    string Circuit, string Availability, TimeSpan ExpectedLatency, int InFlight, int Limit);

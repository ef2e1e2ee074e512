namespace PaymentGateway.Hosting.Telemetry;

/// <summary>
/// The instruments of one instance (docs/metrics.md): counters and histograms that the stages write to, and gauges that
/// read the stages on demand. Safe from any thread.
/// </summary>
/// <remarks>
/// They cost a payment almost nothing: batches add their counts together, and tags are allocated before.
/// </remarks>
internal sealed class GatewayMetrics(GatewayOptions options, Meter meter) : IDisposable
{
    public const string MeterName = "PaymentGateway";

    private readonly Processor[] _processors = options.Processors.All.Select(one => one.Processor).ToArray();
    private readonly Dictionary<string, Func<double?>> _gauges = [];
    private Func<Processor, LaneReading>? _lanes;

    public GatewayMetrics(GatewayOptions options) : this(options, new Meter(MeterName))
    {
    }

    public Meter Meter => meter;

    public Counter<long> Accepted { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.accepted", "{payment}", "New payments that were stored.");

    public Counter<long> Duplicates { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.duplicates", "{payment}", "Payments that were sent again and acknowledged again.");

    /// <summary>Tagged with one of <see cref="Reasons"/>.</summary>
    public Counter<long> Refused { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.refused", "{payment}", "Payments that were not taken, by reason.");

    /// <summary>Seconds, as all durations.</summary>
    public Histogram<double> AcceptDuration { get; } = meter.CreateHistogram<double>(
        "payment_gateway.accept.duration", "s", "From a payment's body to its answer, but for overload.");

    public Histogram<double> StoreDuration { get; } = meter.CreateHistogram<double>(
        "payment_gateway.store.duration", "s", "One INSERT of a batch, whatever came of it.");

    public Histogram<double> StoreBatchSize { get; } = meter.CreateHistogram<double>(
        "payment_gateway.store.batch.size", "{payment}", "Payments in one INSERT.");

    /// <summary>Tagged with processor, kind of call and outcome.</summary>
    public Counter<long> Calls { get; } = meter.CreateCounter<long>(
        "payment_gateway.processor.calls", "{call}", "Calls to a processor, by kind and outcome.");

    /// <summary>Tagged with the processor.</summary>
    public Histogram<double> CallDuration { get; } = meter.CreateHistogram<double>(
        "payment_gateway.processor.call.duration", "s", "A charge that was sent, until its answer.");

    /// <summary>Tagged with one of <see cref="Resolutions"/>.</summary>
    public Counter<long> Resolved { get; } = meter.CreateCounter<long>(
        "payment_gateway.doubts.resolved", "{payment}", "Payments whose doubt ended, by how it did.");

    public Counter<long> Parked { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.parked", "{payment}", "Payments set aside for an operator.");

    public Histogram<double> RecordDuration { get; } = meter.CreateHistogram<double>(
        "payment_gateway.record.duration", "s", "A batch of outcomes until it is in the ledger, repeats included.");

    public Histogram<double> RecordBatchSize { get; } = meter.CreateHistogram<double>(
        "payment_gateway.record.batch.size", "{payment}", "Outcomes in one batch.");

    public Histogram<double> SummaryDuration { get; } = meter.CreateHistogram<double>(
        "payment_gateway.summarise.duration", "s", "A summary, from the question to its answer.");

    public Counter<long> Adopted { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.adopted", "{payment}", "Payments taken over from instances that ended.");

    public Counter<long> Removed { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.removed", "{payment}", "Settled payments that left the tables, as they were old.");

    public Counter<long> LeasesLost { get; } = meter.CreateCounter<long>(
        "payment_gateway.lease.lost", "{lease}", "Leases that another instance closed.");

    /// <summary>Tagged with the outcome.</summary>
    public Counter<long> Reconciliations { get; } = meter.CreateCounter<long>(
        "payment_gateway.reconciliations", "{run}", "Reconciliations that ended, by outcome.");

    /// <summary>Tagged with <see cref="DifferenceTags"/>.</summary>
    public Counter<long> Differences { get; } = meter.CreateCounter<long>(
        "payment_gateway.reconciliation.differences", "{difference}", "Differences that were named, by kind.");

    /// <summary>Tagged with the processor, as amount and fee are.</summary>
    public Counter<long> Settled { get; } = meter.CreateCounter<long>(
        "payment_gateway.payments.settled", "{payment}", "Outcomes in the ledger.");

    private Counter<double> SettledAmount { get; } = meter.CreateCounter<double>(
        "payment_gateway.settled.amount", "{currency}", "Money settled, in units of the currency.");

    private Counter<double> FeePaid { get; } = meter.CreateCounter<double>(
        "payment_gateway.fee.paid", "{currency}", "Fees of what was settled.");

    private Counter<double> FeeAvoided { get; } = meter.CreateCounter<double>(
        "payment_gateway.fee.avoided", "{currency}", "Fees saved by waiting while a dearer processor could be used.");

    /// <summary>Counts what one batch has added to the ledger.</summary>
    /// <param name="savedCents">The fees saved by waiting for this processor.</param>
    public void AddSettled(Processor processor, int payments, long cents, decimal savedCents)
    {
        var amount = Money.FromCents(cents);
        Settled.Add(payments, processor.Tag);
        SettledAmount.Add((double)amount, processor.Tag);
        FeePaid.Add((double)(amount * processor.Fee), processor.Tag);
        FeeAvoided.Add((double)Money.FromCents(savedCents));
    }

    /// <summary>Adds a gauge of a stage, without a value while <paramref name="read"/> returns null.</summary>
    public void AddGauge(string name, string? unit, string description, Func<double?> read)
    {
        _gauges.Add(name, read);
        meter.CreateObservableGauge(
            "payment_gateway." + name,
            () => read() is { } value ? [new Measurement<double>(value)] : Array.Empty<Measurement<double>>(),
            unit, description);
    }

    /// <summary>The value of a gauge now; 0 while it has none.</summary>
    public double Read(string gauge) => _gauges[gauge]() ?? 0;

    /// <summary>Payments of each payer at this instance; set once, as the lanes are.</summary>
    public Func<PayerReading[]> ReadPayers { get; set; } = static () => [];

    public void AddLanes(Func<Processor, LaneReading> read)
    {
        _lanes = read;
        AddLaneGauge("expected_latency", "s", "How long a charge is expected to take.", lane => lane.ExpectedSeconds);
        AddLaneGauge("in_flight", "{call}", "Charges in flight.", lane => lane.InFlight);
        AddLaneGauge("limit", "{call}", "How many charges may be in flight.", lane => lane.Limit);
        AddStates("circuit", "1 for the state of the circuit breaker, 0 for the others.", LaneReading.Circuits,
            lane => lane.Circuit);
        AddStates("availability", "1 for whether it can be used, 0 for the others.",
            LaneReading.Availabilities, lane => lane.Availability);
    }

    /// <summary>The state of each processor as routing sees it now, without durations.</summary>
    public LaneReading[] ReadLanes() => Array.ConvertAll(_processors, processor => _lanes!(processor));

    /// <summary>Starts the counters at 0, because the first rise of a missing counter could not be seen.</summary>
    public void BeginAtZero()
    {
        foreach (var counter in new[] { Accepted, Duplicates, Parked, Adopted, Removed, LeasesLost })
            counter.Add(0);
        foreach (var processor in _processors)
            AddSettled(processor, 0, 0, 0);
        foreach (var reason in Reasons.All)
            Refused.Add(0, reason);
        foreach (var resolution in Resolutions.All)
            Resolved.Add(0, resolution);
        foreach (var outcome in DifferenceTags.Outcomes)
            Reconciliations.Add(0, new KeyValuePair<string, object?>("outcome", outcome));
        foreach (var kind in DifferenceTags.Kinds)
            Differences.Add(0, DifferenceTags.Kind(kind), DifferenceTags.Repair("left"));
    }

    public void Dispose() => meter.Dispose();

    private void AddLaneGauge(string name, string unit, string description, Func<LaneReading, double> read) =>
        meter.CreateObservableGauge(
            "payment_gateway.processor." + name,
            () => Array.ConvertAll(
                _processors, processor => new Measurement<double>(read(_lanes!(processor)), processor.Tag)),
            unit, description);

    private void AddStates(string name, string description, string[] all, Func<LaneReading, string> read) =>
        meter.CreateObservableGauge(
            "payment_gateway.processor." + name,
            () => _processors.SelectMany(processor =>
            {
                var current = read(_lanes!(processor));
                return all.Select(state => new Measurement<double>(
                    state == current ? 1 : 0, processor.Tag, new("state", state)));
            }),
            null, description);
}

/// <summary>Why a payment was refused (docs/metrics.md has the status of each).</summary>
internal static class Reasons
{
    public static readonly KeyValuePair<string, object?> Invalid = new("reason", "invalid");
    public static readonly KeyValuePair<string, object?> Unreadable = new("reason", "unreadable");
    public static readonly KeyValuePair<string, object?> MediaType = new("reason", "media_type");
    public static readonly KeyValuePair<string, object?> Unauthorized = new("reason", "unauthorized");
    public static readonly KeyValuePair<string, object?> Conflict = new("reason", "conflict");
    public static readonly KeyValuePair<string, object?> Overloaded = new("reason", "overloaded");
    public static readonly KeyValuePair<string, object?> Unavailable = new("reason", "unavailable");

    public static readonly KeyValuePair<string, object?>[] All =
        [Invalid, Unreadable, MediaType, Unauthorized, Conflict, Overloaded, Unavailable];
}

/// <summary>How a doubt ended.</summary>
internal static class Resolutions
{
    /// <summary>A look-up found the charge.</summary>
    public static readonly KeyValuePair<string, object?> Found = new("resolution", "found");

    /// <summary>The same charge again at the same processor was stored.</summary>
    public static readonly KeyValuePair<string, object?> ChargedAgain = new("resolution", "charged_again");

    /// <summary>After the horizon no processor had stored it, so it is charged anew.</summary>
    public static readonly KeyValuePair<string, object?> NotCharged = new("resolution", "not_charged");

    public static readonly KeyValuePair<string, object?>[] All = [Found, ChargedAgain, NotCharged];
}

/// <summary>The tags of reconciliations and of the differences that they name.</summary>
internal static class DifferenceTags
{
    public static readonly string[] Outcomes = ["agrees", "differs", "repaired", "stopped"];

    public static readonly string[] Kinds =
    [
        "unrecorded", "absent", "misplaced", "charged_twice", "amount", "requested_at", "unknown", "sums",
    ];

    public static KeyValuePair<string, object?> Kind(string kind) => new("kind", kind);

    /// <summary>recorded, corrected, put_back or left.</summary>
    public static KeyValuePair<string, object?> Repair(string repair) => new("repair", repair);
}

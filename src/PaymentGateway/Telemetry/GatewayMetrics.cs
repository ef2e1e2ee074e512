using System.Diagnostics.Metrics;
using PaymentGateway.Configuration;

namespace PaymentGateway.Telemetry;

/// <summary>
/// The instruments that the stages write to. docs/metrics.md has them all, with <see cref="StateGauges"/> and
/// <see cref="RuntimeGauges"/>. Safe from any thread.
/// </summary>
/// <remarks>
/// On the path of a payment they cost next to nothing: batches add their counts at once, tags are made before, and
/// amounts are sums of cents that are read when somebody asks.
/// </remarks>
internal sealed class GatewayMetrics : IDisposable
{
    public const string MeterName = "PaymentGateway";

    private readonly SettledSums[] _settled;
    private long _waitedCents;

    /// <param name="options">Its fees are what a processor charges of an amount.</param>
    public GatewayMetrics(GatewayOptions options)
    {
        Meter = new Meter(MeterName);
        Accepted = Count("payments.accepted", "{payment}", "New payments that were stored.");
        Duplicates = Count(
            "payments.duplicates", "{payment}", "Payments that were sent again and acknowledged again.");
        Refused = Count("payments.refused", "{payment}", "Payments that were not taken, by reason.");
        AcceptDuration = Time("accept.duration", "From a payment's body to its answer, but for overload.");
        StoreDuration = Time("store.duration", "One INSERT of a batch, whatever came of it.");
        StoreBatchSize = Size("store.batch.size", "Payments in one INSERT.");
        Calls = Count("processor.calls", "{call}", "Calls to a processor, by kind and outcome.");
        CallDuration = Time("processor.call.duration", "A charge that was sent, until its answer.");
        Resolved = Count("doubts.resolved", "{payment}", "Payments whose doubt ended, by how it did.");
        Parked = Count("payments.parked", "{payment}", "Payments set aside for an operator.");
        RecordDuration = Time("record.duration", "A batch of outcomes until it is in the ledger, repeats included.");
        RecordBatchSize = Size("record.batch.size", "Outcomes in one batch.");
        SummaryDuration = Time("summarise.duration", "A summary, from the question to its answer.");
        Adopted = Count("payments.adopted", "{payment}", "Payments taken over from instances that ended.");
        Removed = Count("payments.removed", "{payment}", "Settled payments that left the tables, as they were old.");
        LeasesLost = Count("lease.lost", "{lease}", "Leases that another instance closed.");
        Reconciliations = Count("reconciliations", "{run}", "Reconciliations that ended, by outcome.");
        Differences = Count(
            "reconciliation.differences", "{difference}", "Differences that were named, by kind.");

        _settled = [new(Processor.Default, options.Default.Fee), new(Processor.Fallback, options.Fallback.Fee)];
        Sum("payments.settled", "{payment}", "Outcomes in the ledger.", one => one.Payments);
        Sum("settled.amount", "{currency}", "Money settled, in units of the currency.", one => one.Cents / 100m);
        Sum("fee.paid", "{currency}", "Fees of what was settled.", one => one.Cents / 100m * one.Fee);
        var fees = options.Fallback.Fee - options.Default.Fee;
        Meter.CreateObservableCounter(
            "payment_gateway.fee.avoided", () => (double)(Interlocked.Read(ref _waitedCents) / 100m * fees),
            "{currency}", "Fees saved by waiting for default while fallback could be used.");
    }

    public Meter Meter { get; }

    public SafeCounter Accepted { get; }

    public SafeCounter Duplicates { get; }

    /// <summary>With a <see cref="Reasons"/>.</summary>
    public SafeCounter Refused { get; }

    /// <summary>Seconds, as all durations.</summary>
    public SafeHistogram<double> AcceptDuration { get; }

    public SafeHistogram<double> StoreDuration { get; }

    public SafeHistogram<int> StoreBatchSize { get; }

    /// <summary>With a processor, and a kind of call with its outcome.</summary>
    public SafeCounter Calls { get; }

    /// <summary>With a processor.</summary>
    public SafeHistogram<double> CallDuration { get; }

    /// <summary>With a <see cref="Resolutions"/>.</summary>
    public SafeCounter Resolved { get; }

    public SafeCounter Parked { get; }

    public SafeHistogram<double> RecordDuration { get; }

    public SafeHistogram<int> RecordBatchSize { get; }

    public SafeHistogram<double> SummaryDuration { get; }

    public SafeCounter Adopted { get; }

    public SafeCounter Removed { get; }

    public SafeCounter LeasesLost { get; }

    /// <summary>With an outcome.</summary>
    public SafeCounter Reconciliations { get; }

    /// <summary>With <see cref="DifferenceTags"/>.</summary>
    public SafeCounter Differences { get; }

    /// <summary>Adds what has entered the ledger with one batch.</summary>
    /// <param name="processor">Where it was settled.</param>
    /// <param name="payments">How many.</param>
    /// <param name="cents">Their sum.</param>
    /// <param name="waitedCents">The part of it that waited for default while fallback could be used.</param>
    public void AddSettled(Processor processor, int payments, long cents, long waitedCents)
    {
        _settled[(int)processor - 1].Add(payments, cents);
        Interlocked.Add(ref _waitedCents, waitedCents);
    }

    /// <summary>Outcomes in the ledger since this instance began, at either processor.</summary>
    public long SettledPayments => _settled.Sum(one => one.Payments);

    /// <summary>
    /// Has the counters begin at 0: of one that is not there until it counts, the first rise could not be seen.
    /// </summary>
    public void BeginAtZero()
    {
        foreach (var counter in new[] { Accepted, Duplicates, Parked, Adopted, Removed, LeasesLost })
            counter.Add(0);
        foreach (var reason in Reasons.All)
            Refused.Add(0, reason);
        foreach (var resolution in Resolutions.All)
            Resolved.Add(0, resolution);
        foreach (var outcome in DifferenceTags.Outcomes)
            Reconciliations.Add(0, new KeyValuePair<string, object?>("outcome", outcome));
        foreach (var kind in DifferenceTags.Kinds)
            Differences.Add(0, DifferenceTags.Kind(kind), DifferenceTags.Repair("left"));
    }

    public void Dispose() => Meter.Dispose();

    private SafeCounter Count(string name, string unit, string description) =>
        new(Meter.CreateCounter<long>("payment_gateway." + name, unit, description));

    private SafeHistogram<double> Time(string name, string description) =>
        new(Meter.CreateHistogram<double>("payment_gateway." + name, "s", description));

    private SafeHistogram<int> Size(string name, string description) =>
        new(Meter.CreateHistogram<int>("payment_gateway." + name, "{payment}", description));

    private void Sum(string name, string unit, string description, Func<SettledSums, decimal> read) =>
        Meter.CreateObservableCounter(
            "payment_gateway." + name,
            () => Array.ConvertAll(_settled, one => new Measurement<double>((double)read(one), one.Tag)),
            unit, description);

    /// <summary>What one processor has settled.</summary>
    private sealed class SettledSums(Processor processor, decimal fee)
    {
        private long _payments;
        private long _cents;

        public KeyValuePair<string, object?> Tag { get; } = Tags.Of(processor);

        public decimal Fee { get; } = fee;

        public long Payments => Interlocked.Read(ref _payments);

        public long Cents => Interlocked.Read(ref _cents);

        public void Add(int payments, long cents)
        {
            Interlocked.Add(ref _payments, payments);
            Interlocked.Add(ref _cents, cents);
        }
    }
}

/// <summary>The tags of the instruments; made once, so that none is made for a payment.</summary>
internal static class Tags
{
    private static readonly KeyValuePair<string, object?> Default = new("processor", "default");
    private static readonly KeyValuePair<string, object?> Fallback = new("processor", "fallback");

    public static KeyValuePair<string, object?> Of(Processor processor) =>
        processor == Processor.Default ? Default : Fallback;
}

/// <summary>Why a payment was refused.</summary>
internal static class Reasons
{
    /// <summary>400: the body is no payment.</summary>
    public static readonly KeyValuePair<string, object?> Invalid = new("reason", "invalid");

    /// <summary>413, 408 or 400: the body was too large, too slow or broken off.</summary>
    public static readonly KeyValuePair<string, object?> Unreadable = new("reason", "unreadable");

    /// <summary>415: the body is no JSON.</summary>
    public static readonly KeyValuePair<string, object?> MediaType = new("reason", "media_type");

    /// <summary>409: the correlationId is known with another amount.</summary>
    public static readonly KeyValuePair<string, object?> Conflict = new("reason", "conflict");

    /// <summary>503: too many wait, or no statement answers.</summary>
    public static readonly KeyValuePair<string, object?> Overloaded = new("reason", "overloaded");

    /// <summary>503: it could not be stored in time.</summary>
    public static readonly KeyValuePair<string, object?> Unavailable = new("reason", "unavailable");

    public static readonly KeyValuePair<string, object?>[] All =
        [Invalid, Unreadable, MediaType, Conflict, Overloaded, Unavailable];
}

/// <summary>How a doubt ended.</summary>
internal static class Resolutions
{
    /// <summary>A look-up found the charge.</summary>
    public static readonly KeyValuePair<string, object?> Found = new("resolution", "found");

    /// <summary>The same charge again at the same processor was stored.</summary>
    public static readonly KeyValuePair<string, object?> ChargedAgain = new("resolution", "charged_again");

    /// <summary>After the horizon nobody had stored it: it is charged anew.</summary>
    public static readonly KeyValuePair<string, object?> NotCharged = new("resolution", "not_charged");

    public static readonly KeyValuePair<string, object?>[] All = [Found, ChargedAgain, NotCharged];
}

/// <summary>The differences that a reconciliation names, and what becomes of it.</summary>
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

namespace PaymentGateway.Telemetry;

/// <summary>Sums up this instance's metrics: rates of the last second, durations of the last ten. Any thread.</summary>
internal sealed class InstanceReader(
    GatewayMetrics metrics, MetricListener listener, GatewayOptions options, TimeProvider clock)
{
    // The page and the published readings may follow each other at once: rates over so short a time would be absurd.
    private const double RateSecondsMin = 0.9;

    // A percentile of one second would jump.
    private const double WindowSeconds = 10;

    private readonly MeasuredInstrument _accepted = listener.Of(metrics.Accepted);
    private readonly MeasuredInstrument _settled = listener.Of(metrics.Settled);
    private readonly MeasuredInstrument _accepts = listener.Of(metrics.AcceptDuration);
    private readonly MeasuredInstrument _calls = listener.Of(metrics.CallDuration);
    private readonly List<Counts> _past = [];

    /// <summary>The upper bounds of the durations' buckets, seconds.</summary>
    public double[] Bounds => _accepts.Bounds;

    /// <summary>Rates and durations of the first reading are zero.</summary>
    public InstanceReading Read()
    {
        lock (_past)
        {
            var now = Count();
            if (_past.Count == 0 || SecondsBetween(_past[^1], now) >= RateSecondsMin)
                _past.Add(now);
            while (_past.Count > 1 && SecondsBetween(_past[1], now) >= WindowSeconds)
                _past.RemoveAt(0);
            var first = _past[0];
            var before = _past.FindLast(one => SecondsBetween(one, now) >= RateSecondsMin) ?? first;
            var seconds = Math.Max(SecondsBetween(before, now), RateSecondsMin);
            return new InstanceReading(
                options.Instance.Name, metrics.Read("lease.held") > 0, (now.Accepted - before.Accepted) / seconds,
                (now.Settled - before.Settled) / seconds, (int)metrics.Read("backlog.payments"),
                metrics.Read("backlog.age"), metrics.Read("backlog.overflow") > 0,
                (int)metrics.Read("payments.in_doubt"), Environment.WorkingSet,
                Math.Max(SecondsBetween(first, now), RateSecondsMin), Since(first.Accepts, now.Accepts),
                metrics.ReadLanes().Select((lane, at) => lane with { Calls = Since(first.Calls[at], now.Calls[at]) })
                    .ToArray());
        }
    }

    private double SecondsBetween(Counts from, Counts to) => clock.GetElapsedTime(from.At, to.At).TotalSeconds;

    private Counts Count() => new(
        clock.GetTimestamp(), SumOf(_accepted), SumOf(_settled),
        BucketsOf(_accepts), options.Processors.All.Select(one => BucketsOf(_calls, one.Processor.Tag)).ToArray());

    private static long SumOf(MeasuredInstrument counter) => (long)counter.Series.Sum(series => series.Read().Sum);

    // A series exists from its first measurement on.
    private static long[] BucketsOf(MeasuredInstrument histogram, params KeyValuePair<string, object?>[] tags) =>
        histogram.Series.FirstOrDefault(series => series.Has(tags))?.Read().Counts
            ?? new long[histogram.Bounds.Length + 1];

    private static long[] Since(long[] first, long[] now) =>
        first.Zip(now, static (before, after) => after - before).ToArray();

    /// <summary>The rising counts at one moment.</summary>
    private sealed record Counts(
        long At, long Accepted, long Settled, long[] Accepts, long[][] Calls);
}

/// <summary>The state of one instance; the ledger has it as JSON for the pages of the others.</summary>
/// <param name="OldestSeconds">The age of its oldest unsettled payment, also in the table.</param>
/// <param name="WindowSeconds">How long Accepts and the calls of Lanes were counted.</param>
/// <param name="Accepts">Acceptances by how long they took, in the buckets of the metrics.</param>
/// <param name="Lanes">A reading of each processor, the cheapest first.</param>
internal sealed record InstanceReading(
    string Name, bool LeaseHeld, double AcceptedPerSecond, double SettledPerSecond, int Unsettled,
    double OldestSeconds, bool HasOverflow, int InDoubt, long MemoryBytes, double WindowSeconds, long[] Accepts,
    LaneReading[] Lanes)
{
    public string ToJson() => JsonSerializer.Serialize(this, ReadingJsonContext.Default.InstanceReading);

    /// <returns>Null when it cannot be shown, because another version wrote it.</returns>
    public static InstanceReading? Parse(string json)
    {
        try
        {
            var read = JsonSerializer.Deserialize(json, ReadingJsonContext.Default.InstanceReading);
            return read is { Name: not null, WindowSeconds: > 0, Accepts: not null, Lanes: not null }
                && Array.TrueForAll(read.Lanes, static lane => lane?.IsWhole() == true)
                && double.IsFinite(
                    read.AcceptedPerSecond + read.SettledPerSecond + read.OldestSeconds + read.WindowSeconds)
                ? read
                : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>The state of one processor at one instance.</summary>
/// <param name="Calls">Charges by how long they took, in the buckets of the metrics.</param>
/// <param name="Unreadable">An answer to a look-up could not be read lately (event 414).</param>
internal sealed record LaneReading(
    string Name, string Circuit, string Availability, double ExpectedSeconds, int InFlight, int Limit, long[] Calls,
    bool Unreadable = false)
{
    /// <summary>The states of the circuit breaker, the best first.</summary>
    public static readonly string[] Circuits = ["closed", "half_open", "open"];

    /// <summary>Whether the processor can be used, the best first.</summary>
    public static readonly string[] Availabilities = ["usable", "unknown", "probe", "unusable", "disabled"];

    /// <summary>False when something is missing, because another version wrote it.</summary>
    public bool IsWhole() =>
        Name is not null && Circuit is not null && Availability is not null && Calls is not null
        && double.IsFinite(ExpectedSeconds);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(InstanceReading))]
internal sealed partial class ReadingJsonContext : JsonSerializerContext;

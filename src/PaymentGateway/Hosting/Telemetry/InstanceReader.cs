namespace PaymentGateway.Hosting.Telemetry;

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
                    .ToArray(),
                metrics.ReadPayers());
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

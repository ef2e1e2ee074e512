using PaymentGateway.Metering;

namespace PaymentGateway.Showing;

/// <summary>
/// Reads how this instance is doing out of its metrics: rates since the last reading, durations of some seconds. One
/// caller at a time.
/// </summary>
internal sealed class InstanceReader(
    GatewayMetrics metrics, MetricListener listener, IGatewayState state, TimeProvider clock)
{
    /// <summary>How many readings the durations are of; a percentile of one second would jump.</summary>
    public const int Window = 10;

    private static readonly Processor[] Both = Enum.GetValues<Processor>();

    private readonly Queue<Counts> _past = new();
    private Counts? _last;

    /// <summary>The upper bounds of the durations' buckets, seconds.</summary>
    public double[] Bounds => listener.Of(metrics.AcceptDuration.Instrument).Bounds;

    /// <summary>Counts from here on.</summary>
    public void Begin()
    {
        _past.Clear();
        _last = Count();
        _past.Enqueue(_last);
    }

    /// <summary>Reads; <see cref="Begin"/> came before.</summary>
    public InstanceReading Read()
    {
        var (before, now) = (_last!, Count());
        _last = now;
        _past.Enqueue(now);
        if (_past.Count > Window + 1)
            _past.Dequeue();
        var first = _past.Peek();
        var seconds = clock.GetElapsedTime(before.At, now.At).TotalSeconds;
        return new InstanceReading(
            state.IsLeaseHeld, (now.Accepted - before.Accepted) / seconds, (now.Settled - before.Settled) / seconds,
            state.Unsettled, state.OldestAge.TotalSeconds, state.HasOverflow, state.InDoubt, Environment.WorkingSet,
            clock.GetElapsedTime(first.At, now.At).TotalSeconds, Since(first.Accepts, now.Accepts),
            Array.ConvertAll(Both, processor => LaneOf(processor, first, now)));
    }

    private LaneReading LaneOf(Processor processor, Counts first, Counts now)
    {
        var (lane, at) = (state.Read(processor), Array.IndexOf(Both, processor));
        return new LaneReading(
            lane.Circuit, lane.Availability, lane.ExpectedLatency.TotalSeconds, lane.InFlight,
            Since(first.Calls[at], now.Calls[at]));
    }

    private Counts Count() => new(
        clock.GetTimestamp(),
        (long)listener.Of(metrics.Accepted.Instrument).Series.Sum(series => series.Read().Sum),
        metrics.SettledPayments,
        BucketsOf(listener.Of(metrics.AcceptDuration.Instrument), []),
        Array.ConvertAll(
            Both, processor => BucketsOf(listener.Of(metrics.CallDuration.Instrument), [Tags.Of(processor)])));

    // A series is there from its first measurement on.
    private static long[] BucketsOf(MeasuredInstrument histogram, KeyValuePair<string, object?>[] tags) =>
        histogram.Series.FirstOrDefault(series => series.Has(tags))?.Read().Counts
            ?? new long[histogram.Bounds.Length + 1];

    private static long[] Since(long[] first, long[] now) =>
        first.Zip(now, static (before, after) => after - before).ToArray();

    /// <summary>Everything that only rises, at one moment.</summary>
    private sealed record Counts(long At, long Accepted, long Settled, long[] Accepts, long[][] Calls);
}

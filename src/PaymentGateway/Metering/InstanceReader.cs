using PaymentGateway.Configuring;

namespace PaymentGateway.Metering;

/// <summary>
/// Reads how this instance does out of its metrics: rates of the last second, durations of the last ten. Safe from any
/// thread.
/// </summary>
internal sealed class InstanceReader(
    GatewayMetrics metrics, MetricListener listener, IGatewayState state, GatewayOptions options, TimeProvider clock)
{
    // Rates of a moment would be zero or absurd, and a renewal may follow another one at once.
    private const double RateSecondsMin = 0.9;

    // A percentile of one second would jump.
    private const double WindowSeconds = 10;

    private static readonly Processor[] Both = Enum.GetValues<Processor>();

    // Found once, because a renewal must not wait for the listener's lock while it writes all metrics.
    private readonly MeasuredInstrument _accepted = listener.Of(metrics.Accepted.Instrument);
    private readonly MeasuredInstrument _accepts = listener.Of(metrics.AcceptDuration.Instrument);
    private readonly MeasuredInstrument _calls = listener.Of(metrics.CallDuration.Instrument);
    private readonly List<Counts> _past = [];

    /// <summary>The upper bounds of the durations' buckets, seconds.</summary>
    public double[] Bounds => _accepts.Bounds;

    /// <summary>How the instance does now; rates and durations of the first reading are zero.</summary>
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
                options.InstanceName, state.IsLeaseHeld, (now.Accepted - before.Accepted) / seconds,
                (now.Settled - before.Settled) / seconds, state.Unsettled, state.OldestAge.TotalSeconds,
                state.HasOverflow, state.InDoubt, Environment.WorkingSet,
                Math.Max(SecondsBetween(first, now), RateSecondsMin), Since(first.Accepts, now.Accepts),
                Array.ConvertAll(Both, processor => LaneOf(processor, first, now)));
        }
    }

    private double SecondsBetween(Counts from, Counts to) => clock.GetElapsedTime(from.At, to.At).TotalSeconds;

    private LaneReading LaneOf(Processor processor, Counts first, Counts now)
    {
        var (lane, at) = (state.Read(processor), Array.IndexOf(Both, processor));
        return new LaneReading(
            lane.Circuit, lane.Availability, lane.ExpectedLatency.TotalSeconds, lane.InFlight,
            Since(first.Calls[at], now.Calls[at]));
    }

    private Counts Count() => new(
        clock.GetTimestamp(), (long)_accepted.Series.Sum(series => series.Read().Sum), metrics.SettledPayments,
        BucketsOf(_accepts, []), Array.ConvertAll(Both, processor => BucketsOf(_calls, [Tags.Of(processor)])));

    // A series is there from its first measurement on.
    private static long[] BucketsOf(MeasuredInstrument histogram, KeyValuePair<string, object?>[] tags) =>
        histogram.Series.FirstOrDefault(series => series.Has(tags))?.Read().Counts
            ?? new long[histogram.Bounds.Length + 1];

    private static long[] Since(long[] first, long[] now) =>
        first.Zip(now, static (before, after) => after - before).ToArray();

    /// <summary>Everything that only rises, at one moment.</summary>
    private sealed record Counts(long At, long Accepted, long Settled, long[] Accepts, long[][] Calls);
}

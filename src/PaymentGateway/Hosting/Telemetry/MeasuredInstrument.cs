namespace PaymentGateway.Hosting.Telemetry;

/// <summary>An instrument and its measurements, a series for each set of tags. Safe from any thread.</summary>
internal sealed class MeasuredInstrument
{
    // Upper bounds of buckets: of durations in seconds, and of the sizes of batches.
    private static readonly double[] Seconds =
        [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

    private static readonly double[] Numbers = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

    private readonly bool _adds;
    private volatile MeasuredSeries[] _series = [];

    public MeasuredInstrument(Instrument instrument)
    {
        Instrument = instrument;
        (Type, _adds) = instrument switch
        {
            Counter<int> or Counter<long> or Counter<double> => ("counter", true),
            ObservableCounter<long> or ObservableCounter<double> => ("counter", false),
            UpDownCounter<int> => ("gauge", true),
            Histogram<double> => ("histogram", true),
            _ => ("gauge", false),
        };
        Bounds = BoundsOf(instrument);
    }

    public Instrument Instrument { get; }

    /// <summary>In Prometheus' words: counter, gauge or histogram.</summary>
    public string Type { get; }

    public double[] Bounds { get; }

    public IReadOnlyList<MeasuredSeries> Series => _series;

    /// <summary>The upper bounds of a histogram's buckets, inclusive; other instruments have none.</summary>
    public static double[] BoundsOf(Instrument instrument) =>
        instrument is not Histogram<double> ? [] : instrument.Unit == "s" ? Seconds : Numbers;

    public void Record(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        (Find(_series, tags) ?? Add(tags)).Record(value, _adds, Bounds);

    private static MeasuredSeries? Find(MeasuredSeries[] all, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        foreach (var series in all)
            if (series.Has(tags))
                return series;

        return null;
    }

    private MeasuredSeries Add(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        lock (Instrument)
        {
            if (Find(_series, tags) is { } known)
                return known;

            var added = new MeasuredSeries(tags.ToArray(), Bounds.Length + 1);
            _series = [.. _series, added];
            return added;
        }
    }
}

/// <summary>The measurements with one set of tags. Safe from any thread.</summary>
internal sealed class MeasuredSeries(KeyValuePair<string, object?>[] tags, int buckets)
{
    private readonly long[] _counts = new long[buckets];
    private double _sum;

    public KeyValuePair<string, object?>[] Tags => tags;

    public bool Has(ReadOnlySpan<KeyValuePair<string, object?>> other)
    {
        if (other.Length != tags.Length)
            return false;

        for (var i = 0; i < tags.Length; i++)
            if (other[i].Key != tags[i].Key || !Equals(other[i].Value, tags[i].Value))
                return false;
        return true;
    }

    public void Record(double value, bool adds, double[] bounds)
    {
        var bucket = 0;
        while (bucket < bounds.Length && value > bounds[bucket])
            bucket++;
        // Without a lock: under a CPU limit its holder may be paused, and other sockets' threads would wait for it.
        Interlocked.Increment(ref _counts[bucket]);
        double known, next;
        do
            (known, next) = (_sum, adds ? _sum + value : value);
        while (!Interlocked.CompareExchange(ref _sum, next, known).Equals(known)); // NaN differs from itself by !=
    }

    /// <summary>The sum or last value, and the count of each bucket; a new measurement may be in only one.</summary>
    public (double Sum, long[] Counts) Read() =>
        (Volatile.Read(ref _sum), Array.ConvertAll(_counts, static count => count));
}

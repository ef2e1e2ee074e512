using System.Diagnostics.Metrics;

namespace PaymentGateway.Telemetry;

/// <summary>
/// A counter that a listener cannot fail: where one throws, it loses the measurement, and whoever counts goes on. For
/// that is the path of a payment, and an exception between two stages would leave it in nobody's hands. Any thread.
/// </summary>
internal sealed class SafeCounter(Counter<long> counter)
{
    /// <summary>What listeners know it by.</summary>
    public Instrument Instrument => counter;

    public void Add(long delta) => Add(delta, []);

    public void Add(long delta, KeyValuePair<string, object?> tag) => Add(delta, [tag]);

    public void Add(long delta, KeyValuePair<string, object?> first, KeyValuePair<string, object?> second) =>
        Add(delta, [first, second]);

    public void Add(
        long delta, KeyValuePair<string, object?> first, KeyValuePair<string, object?> second,
        KeyValuePair<string, object?> third) =>
        Add(delta, [first, second, third]);

    private void Add(long delta, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        try
        {
            counter.Add(delta, tags);
        }
        catch (Exception)
        {
            // The listener's own: as above.
        }
    }
}

/// <summary>A histogram that a listener cannot fail, as <see cref="SafeCounter"/>. Any thread.</summary>
internal sealed class SafeHistogram<T>(Histogram<T> histogram) where T : struct
{
    /// <summary>What listeners know it by.</summary>
    public Instrument Instrument => histogram;

    public void Record(T value) => Record(value, []);

    public void Record(T value, KeyValuePair<string, object?> tag) => Record(value, [tag]);

    private void Record(T value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        try
        {
            histogram.Record(value, tags);
        }
        catch (Exception)
        {
            // The listener's own: as above.
        }
    }
}

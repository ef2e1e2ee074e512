namespace PaymentGateway.Telemetry;

/// <summary>
/// A counter that a listener cannot fail: when a listener throws, its measurement is lost and the caller goes on. An
/// exception between two stages would leave the payment in nobody's hands. Any thread.
/// </summary>
internal sealed class SafeCounter<T>(Meter meter, string name, string unit, string description) where T : struct
{
    private readonly Counter<T> _counter = meter.CreateCounter<T>("payment_gateway." + name, unit, description);

    public Instrument Instrument => _counter;

    public void Add(T delta, params ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        try
        {
            _counter.Add(delta, tags);
        }
        catch (Exception)
        {
            // The listener's own: as above.
        }
    }
}

/// <summary>A histogram that a listener cannot fail, as <see cref="SafeCounter{T}"/>. Any thread.</summary>
internal sealed class SafeHistogram(Meter meter, string name, string unit, string description)
{
    private readonly Histogram<double> _histogram =
        meter.CreateHistogram<double>("payment_gateway." + name, unit, description);

    public Instrument Instrument => _histogram;

    public void Record(double value, params ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        try
        {
            _histogram.Record(value, tags);
        }
        catch (Exception)
        {
            // The listener's own: as above.
        }
    }
}

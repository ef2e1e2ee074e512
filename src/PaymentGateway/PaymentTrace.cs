using System.Diagnostics;

namespace PaymentGateway;

/// <summary>
/// The trace that a payment's request began or belongs to; it survives the queue. There is none while nobody listens,
/// or where the request is not sampled, or once the payment was in memory nowhere. One stage holds it at a time. A
/// listener that throws loses the span, and the payment goes on.
/// </summary>
internal sealed class PaymentTrace
{
    /// <summary>Listened to when OTEL_EXPORTER_OTLP_ENDPOINT is set.</summary>
    public const string SourceName = "PaymentGateway";

    private static readonly ActivitySource Source = new(SourceName);

    private bool _isCharged;

    private PaymentTrace(ActivityContext request) => Request = request;

    /// <summary>The span of the payment's request, which outlives it by its ids alone.</summary>
    public ActivityContext Request { get; }

    /// <summary>That of the request that runs here.</summary>
    public static PaymentTrace? OfRequest() =>
        Source.HasListeners() && Activity.Current is { Recorded: true } request ? new(request.Context) : null;

    /// <summary>Begins a span that ends when it is disposed; until then it is the current one.</summary>
    public PaymentSpan Start(string name, ActivityKind kind = ActivityKind.Internal) => Start(name, kind, default);

    /// <summary>A span that ends now.</summary>
    /// <param name="name">The span's.</param>
    /// <param name="began">UTC.</param>
    public void Add(string name, DateTime began) => Start(name, ActivityKind.Internal, began).Dispose();

    /// <summary>A charge begins. The first one ends the wait in the queue.</summary>
    /// <param name="acceptedAt">UTC; when the payment came into the queue.</param>
    public PaymentSpan StartCharge(DateTime acceptedAt)
    {
        if (!_isCharged)
            Add("queue", acceptedAt);
        _isCharged = true;
        return Start("charge", ActivityKind.Client);
    }

    private PaymentSpan Start(string name, ActivityKind kind, DateTimeOffset began)
    {
        try
        {
            return new PaymentSpan(Source.StartActivity(name, kind, Request, startTime: began));
        }
        catch (Exception)
        {
            // The listener's own.
            return new PaymentSpan(null);
        }
    }
}

/// <summary>A span of a payment; none where it is not sampled. Ends when it is disposed.</summary>
internal sealed class PaymentSpan(Activity? span) : IDisposable
{
    /// <summary>How the call that the span is of ended.</summary>
    public void Tell(KeyValuePair<string, object?> processor, object? outcome) =>
        span?.SetTag(processor.Key, processor.Value).SetTag("outcome", outcome);

    public void Dispose()
    {
        try
        {
            span?.Dispose();
        }
        catch (Exception)
        {
            // The listener's own.
        }
    }
}

namespace PaymentGateway;

/// <summary>
/// An accepted payment on its way to a settlement. One stage holds it at a time, so nothing here is locked.
/// </summary>
/// <param name="id">The correlationId of the contract.</param>
/// <param name="amountCents">The amount in cents, always above zero.</param>
/// <param name="acceptedAt">UTC, whole microseconds; with the id it names one acceptance for good.</param>
/// <param name="epoch">The owner at the time when this instance took it.</param>
internal sealed class Payment(Guid id, long amountCents, DateTime acceptedAt, int epoch)
{
    // Fits beside the other small fields; a nullable would make each payment eight bytes larger.
    private short _attempts;

    public Guid Id { get; } = id;

    public long AmountCents { get; } = amountCents;

    public DateTime AcceptedAt { get; } = acceptedAt;

    public int Epoch { get; } = epoch;

    /// <summary>Monotonic timestamp of the moment at which this instance took it.</summary>
    public long TakenAt { get; set; }

    /// <summary>A charge was sent, here or by a terminated owner, and nobody knows yet what came of it.</summary>
    public bool InDoubt { get; set; }

    /// <summary>Where a charge may have happened; null while in doubt: a terminated owner knew it.</summary>
    public Processor? ChargedAt { get; set; }

    /// <summary>
    /// UTC, whole microseconds; kept while in doubt, stamped anew for each charge after a clean refusal.
    /// </summary>
    public DateTime RequestedAt { get; set; }

    /// <summary>Monotonic timestamp of the last moment at which an unresolved call may have been sent.</summary>
    public long DoubtSince { get; set; }

    /// <summary>How often a charge was sent; null where an earlier owner knew it.</summary>
    public short? Attempts
    {
        get => _attempts < 0 ? null : _attempts;
        set => _attempts = value ?? -1;
    }

    /// <summary>It waited for default while fallback could be used: the difference of the fees is saved.</summary>
    public bool WaitedForDefault { get; set; }

    /// <summary>A doubt at default has ended there with a 404: default was sent it and did not store it.</summary>
    public bool IsMissingAtDefault { get; set; }

    /// <summary>Purged from the ledger: it must not be charged any more.</summary>
    public bool Purged { get; set; }

    /// <summary>Null while nobody listens.</summary>
    public PaymentTrace? Trace { get; init; }

    /// <summary>The exact decimal of the wire, with two places.</summary>
    public decimal Amount => Money.FromCents(AmountCents);

    /// <summary>Its id: a line of the log that tells of a payment gets the payment, and so its trace too.</summary>
    public override string ToString() => Id.ToString();
}

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

    /// <summary>The trace of the request that runs here.</summary>
    public static PaymentTrace? OfRequest() =>
        Source.HasListeners() && Activity.Current is { Recorded: true } request ? new(request.Context) : null;

    /// <summary>Begins a span that ends when it is disposed; until then it is the current one.</summary>
    public PaymentSpan Start(string name, ActivityKind kind = ActivityKind.Internal) => Start(name, kind, default);

    /// <summary>A span that ends now, and began in UTC.</summary>
    public void Add(string name, DateTime began) => Start(name, ActivityKind.Internal, began).Dispose();

    /// <summary>Begins a charge. The first one ends the wait in the queue.</summary>
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

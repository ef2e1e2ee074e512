namespace PaymentGateway;

/// <summary>
/// An accepted payment on its way to a settlement. One stage changes it at a time, so nothing here is locked.
/// </summary>
/// <param name="id">The correlationId of the contract.</param>
internal sealed class Payment(Guid id, long amountCents, DateTime acceptedAt = default, int epoch = 0)
{
    // Fits beside the other small fields; a nullable would make each payment eight bytes larger.
    private short _attempts;

    public Guid Id { get; } = id;

    /// <summary>Always above zero.</summary>
    public long AmountCents { get; } = amountCents;

    /// <summary>UTC, whole microseconds. The INSERT sets it: id and time together name one acceptance.</summary>
    public DateTime AcceptedAt { get; set; } = acceptedAt;

    /// <summary>The owner at the time when this instance took it.</summary>
    public int Epoch { get; set; } = epoch;

    /// <summary>Monotonic timestamp of the moment at which this instance took it.</summary>
    public long TakenAt { get; set; }

    /// <summary>Where a charge was perhaps sent, here or by a terminated owner, and its result is unknown.</summary>
    public ProcessorSet MayBeAt { get; set; }

    public bool InDoubt => !MayBeAt.IsEmpty;

    /// <summary>
    /// UTC, whole microseconds; kept while in doubt, stamped anew for each charge after a clean refusal.
    /// </summary>
    public DateTime RequestedAt { get; set; }

    /// <summary>Monotonic timestamp of the last moment at which an unresolved call may have been sent.</summary>
    public long DoubtSince { get; set; }

    /// <summary>Charges sent; null after an adoption, because only the earlier owner knew their number.</summary>
    public short? Attempts
    {
        get => _attempts < 0 ? null : _attempts;
        set => _attempts = value ?? -1;
    }

    /// <summary>The usable dearer processor that this payment did not take, to save its fee.</summary>
    public Processor? PassedOver { get; set; }

    /// <summary>The processors that were sent this payment and did not store it: a 404 ended the doubt there.</summary>
    public ProcessorSet MissingAt { get; set; }

    /// <summary>Purged from the ledger: it must not be charged any more.</summary>
    public bool Purged { get; set; }

    /// <summary>Null while no exporter listens.</summary>
    public PaymentTrace? Trace { get; init; }

    /// <summary>The exact decimal of the wire, with two places.</summary>
    public decimal Amount => Money.FromCents(AmountCents);

    /// <summary>Its id: a log line about a payment gets the payment, and so its trace too.</summary>
    public override string ToString() => Id.ToString();
}

/// <summary>
/// The trace that a payment's request began or belongs to; it survives the queue. A payment has none without an
/// exporter, without sampling, or after it was read from the table. One stage holds it at a time.
/// </summary>
internal sealed class PaymentTrace(ActivityContext request)
{
    /// <summary>Listened to when OTEL_EXPORTER_OTLP_ENDPOINT is set.</summary>
    public const string SourceName = "PaymentGateway";

    private static readonly ActivitySource Source = new(SourceName);

    private bool _isCharged;

    /// <summary>The span of the payment's request, which outlives it by its ids alone.</summary>
    public ActivityContext Request => request;

    /// <summary>The trace of the request that runs here.</summary>
    public static PaymentTrace? OfRequest() =>
        Source.HasListeners() && Activity.Current is { Recorded: true } request ? new(request.Context) : null;

    /// <summary>Begins a span that ends when it is disposed; until then it is the current one.</summary>
    public Activity? Start(string name, ActivityKind kind = ActivityKind.Internal) =>
        Source.StartActivity(name, kind, request);

    /// <summary>Adds a span that ends now.</summary>
    public void Add(string name, DateTime began) =>
        Source.StartActivity(name, ActivityKind.Internal, request, startTime: began)?.Dispose();

    /// <summary>Begins a charge. The first one ends the wait in the queue.</summary>
    public Activity? StartCharge(DateTime acceptedAt)
    {
        if (!_isCharged)
            Add("queue", acceptedAt);
        _isCharged = true;
        return Start("charge", ActivityKind.Client);
    }
}

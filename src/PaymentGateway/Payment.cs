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

    /// <summary>The epoch that owned the payment when this instance took it.</summary>
    public int Epoch { get; set; } = epoch;

    /// <summary>Monotonic timestamp of the moment at which this instance took it.</summary>
    public long TakenAt { get; set; }

    /// <summary>The processors that may have stored a charge of this instance or of a terminated owner.</summary>
    public ProcessorSet MayBeAt { get; set; }

    public bool InDoubt => !MayBeAt.IsEmpty;

    /// <summary>The id of the processor that said by a 422 that it has this payment; 0 where none did.</summary>
    public short HeldBy { get; private set; }

    /// <summary>It is at this processor and nowhere else, whatever look-ups say from now on.</summary>
    public void Hold(short processor) => (HeldBy, MayBeAt) = (processor, ProcessorSet.Of(processor));

    /// <summary>An operator has said that the processor has not charged it, against its 422.</summary>
    public void Release() => HeldBy = 0;

    /// <summary>UTC, whole microseconds; kept while in doubt, set anew for each charge after a refusal.</summary>
    public DateTime RequestedAt { get; set; }

    /// <summary>Monotonic timestamp of the last moment at which an unresolved call may have been sent.</summary>
    public long DoubtSince { get; set; }

    /// <summary>Charges sent; null after an adoption, because only the earlier owner knew their number.</summary>
    public short? Attempts
    {
        get => _attempts < 0 ? null : _attempts;
        set => _attempts = value ?? -1;
    }

    /// <summary>The dearer processor that was usable while this payment waited for a cheaper one.</summary>
    public Processor? PassedOver { get; set; }

    /// <summary>The processors that were sent this payment and did not store it: a 404 ended the doubt there.</summary>
    public ProcessorSet MissingAt { get; set; }

    /// <summary>The processors that refused a charge of this payment, at this instance.</summary>
    public ProcessorSet RefusedAt { get; set; }

    /// <summary>Purged from the ledger: it must not be charged any more.</summary>
    public bool Purged { get; set; }

    /// <summary>Null while no exporter listens.</summary>
    public PaymentTrace? Trace { get; init; }

    /// <summary>The exact decimal of the wire, with two places.</summary>
    public decimal Amount => Money.FromCents(AmountCents);

    /// <summary>The id. Log lines take the payment itself, so that they also carry its trace.</summary>
    public override string ToString() => Id.ToString();
}

/// <summary>
/// The trace of the request that brought a payment. A payment has none without an exporter, when it was not sampled, or
/// after it was read from the table. One stage uses it at a time.
/// </summary>
internal sealed class PaymentTrace(ActivityContext request)
{
    /// <summary>Listened to when OTEL_EXPORTER_OTLP_ENDPOINT is set.</summary>
    public const string SourceName = "PaymentGateway";

    private static readonly ActivitySource Source = new(SourceName);

    private bool _isCharged;

    /// <summary>The ids of the request's span; they stay valid after the span ends.</summary>
    public ActivityContext Request => request;

    /// <summary>Null when no exporter listens or the current request is not sampled.</summary>
    public static PaymentTrace? OfRequest() =>
        Source.HasListeners() && Activity.Current is { Recorded: true } request ? new(request.Context) : null;

    /// <summary>Starts a span and makes it the current one; disposing ends it.</summary>
    public Activity? Start(string name, ActivityKind kind = ActivityKind.Internal) =>
        Source.StartActivity(name, kind, request);

    /// <summary>Adds a span that ends now.</summary>
    public void Add(string name, DateTime began) =>
        Source.StartActivity(name, ActivityKind.Internal, request, startTime: began)?.Dispose();

    /// <summary>Starts the span of a charge; the first one also adds the span of the queue.</summary>
    public Activity? StartCharge(DateTime acceptedAt)
    {
        if (!_isCharged)
            Add("queue", acceptedAt);
        _isCharged = true;
        return Start("charge", ActivityKind.Client);
    }
}

namespace PaymentGateway;

/// <summary>
/// An accepted payment on its way to a settlement, and the only place that changes the state of one.
/// </summary>
/// <remarks>
/// <para>
/// Each payment is charged at most once because each step of its life goes through the transitions below. They do no
/// I/O and read no clock. A transition asserts the phase that it comes from, and tells its caller by a <see
/// cref="NextStep"/> what follows; the loops only do what it says.
/// </para>
/// <code>
///   from       transition                                       to
///   Waiting    Charge                                           Charging
///              Doubt: it may be somewhere, and is looked up     InDoubt
///   Charging   Answer: 200                                      Settled
///              Answer: refused, to a first charge               Waiting
///              Answer: 400, to a first charge                   Parked
///              Answer: all others; to a repeat all but 200      InDoubt
///   InDoubt    Charge, again at the same processor              Charging
///              Find: a look-up has it                           Settled
///              Absent or Overrule: it is nowhere                Waiting
///              Reject: 400 to a repeat, and no look-up has it   Parked
///   any        an assertion fails                               Broken
///
///   the next owner of a payment begins as follows
///   Adopt      from another instance, by its row                Waiting, or InDoubt at several processors
///   Inherit    from an epoch of this instance, from memory      as it was: Waiting or InDoubt
/// </code>
/// <para>
/// <i>Where it may be.</i> <see cref="MayBeAt"/> is the set of processors that may have stored a charge. While it is
/// empty, any processor may be charged. A charge adds its processor before the first byte leaves, and the assertion in
/// <see cref="Charge"/> refuses every other processor while it is in the set. Three things take a processor out of the
/// set: a clear refusal of the charge that put it in, proof that the processor has not stored it (<see cref="Absent"/>;
/// the head of DoubtResolver says what counts as proof), and an operator's word (<see cref="Overrule"/>).
/// </para>
/// <para>
/// <i>What an answer means</i> (contract.md, each processor). A <i>first</i> charge is one of a payment that is
/// nowhere; a <i>repeat</i> goes to the one processor that may have it.
/// </para>
/// <code>
///   answer                                        first charge          repeat
///   200                                           record                record
///   422, it is stored already                     resolve, held         resolve, held
///   500 without body, 429, nothing sent           wait behind others    resolve
///   400                                           park                  resolve, then park
///   no answer, or another one                     resolve               resolve
/// </code>
/// <para>
/// An example of the two columns. A charge at default breaks after its bytes left: the set is {default}, the payment is
/// in doubt. Its look-up says 404, the same charge is sent again, and default answers 500. That refusal is about the
/// second call; the first one may be stored still. So the set stays {default} and the doubt goes on, whereas a first
/// charge with that answer is free for fallback.
/// </para>
/// <para>
/// A 400 to a repeat proves as little of the earlier call, but no further charge would fare better. So the payment is
/// looked up past the horizon, and parked there if it is not found: a replay goes to the same processor again.
/// </para>
/// <para>
/// <i>When an assertion fails</i>, code of ours is wrong, and a wrong ledger is worse than a late payment. The payment
/// becomes <see cref="PaymentPhase.Broken"/>, which no transition leaves, and <see cref="BrokenLifeException"/> reaches
/// the loop, which ends the epoch and parks the payment for an operator (OwnedPayments.BreakAsync). The next
/// epoch takes over only when it is parked, because it would meet the same assertion.
/// </para>
/// <para>
/// One stage has a payment at a time. The phase changes by compare-and-swap, so two stages that have one at once fail
/// that assertion. A stop reads where payments may be, after the end of their epoch.
/// </para>
/// </remarks>
/// <param name="id">The correlationId of the contract.</param>
internal sealed class Payment(Guid id, long amountCents, DateTime acceptedAt = default, int epoch = 0)
{
    private int _phase;
    private bool _isRepeat;

    // Where it may have been when its doubt began.
    private ProcessorSet _doubtedAt;

    // Fits beside the other small fields; a nullable would make each payment eight bytes larger.
    private short _attempts;

    public Guid Id { get; } = id;

    /// <summary>Always above zero.</summary>
    public long AmountCents { get; } = amountCents;

    /// <summary>UTC, whole microseconds. The INSERT sets it: id and time together name one acceptance.</summary>
    public DateTime AcceptedAt { get; private set; } = acceptedAt;

    /// <summary>The number of the epoch that owns it, or owned it last, at this instance.</summary>
    public int Epoch { get; private set; } = epoch;

    /// <summary>Monotonic timestamp of the moment at which this instance took it.</summary>
    public long TakenAt { get; private set; }

    public PaymentPhase Phase => (PaymentPhase)Volatile.Read(ref _phase);

    /// <summary>The processors that may have stored a charge of this instance or of a terminated owner.</summary>
    public ProcessorSet MayBeAt { get; private set; }

    public bool MayBeStored => !MayBeAt.IsEmpty;

    /// <summary>The id of the processor that said by a 422 that it has this payment; 0 where none did.</summary>
    public short HeldBy { get; private set; }

    /// <summary>It is at one processor and nowhere else, so no look-up's 404 counts, and no charge is sent.</summary>
    public bool IsHeld => HeldBy != 0;

    /// <summary>A processor that may have it has answered the last charge by 400: no further charge is sent.</summary>
    public bool IsRejected { get; private set; }

    /// <summary>UTC, whole microseconds; kept while in doubt, set anew for each charge after a refusal.</summary>
    public DateTime RequestedAt { get; private set; }

    /// <summary>Monotonic timestamp of the last moment at which an unresolved call may have been sent.</summary>
    public long DoubtSince { get; private set; }

    /// <summary>Charges sent; null after an adoption, because only the earlier owner knew their number.</summary>
    public short? Attempts => _attempts < 0 ? null : _attempts;

    /// <summary>The dearer processor that was usable while this payment waited for a cheaper one.</summary>
    public Processor? PassedOver { get; private set; }

    /// <summary>The processors that were sent this payment and did not store it: a 404 ended the doubt there.</summary>
    public ProcessorSet MissingAt { get; private set; }

    /// <summary>The processors that refused a charge of this payment, at this instance.</summary>
    public ProcessorSet RefusedAt { get; private set; }

    /// <summary>Null while no exporter listens.</summary>
    public PaymentTrace? Trace { get; init; }

    /// <summary>The exact decimal of the wire, with two places.</summary>
    public decimal Amount => Money.FromCents(AmountCents);

    /// <summary>A payment of a row.</summary>
    /// <param name="isHandedOver">Its owner is not the epoch that accepted it, so charges may have been sent.</param>
    /// <param name="heldBy">The processor of a 422; null where none said so.</param>
    public static Payment OfRow(
        Guid id, long amountCents, DateTime acceptedAt, int epoch, bool isHandedOver, short? heldBy)
    {
        var payment = new Payment(id, amountCents, acceptedAt, epoch) { _attempts = (short)(isHandedOver ? -1 : 0) };
        if (heldBy is { } processor)
            payment.Hold(processor);
        return payment;
    }

    /// <summary>The acceptance that the next INSERT will store; a batch that is split is stamped again.</summary>
    public void Stamp(DateTime acceptance, int owner)
    {
        Assert(Phase == PaymentPhase.Waiting && !MayBeStored, nameof(Stamp));
        (AcceptedAt, Epoch) = (acceptance, owner);
    }

    /// <summary>This instance takes it, by an acceptance, a page of its backlog or an adoption.</summary>
    /// <param name="now">Monotonic timestamp.</param>
    public void Take(long now) => TakenAt = now;

    /// <summary>
    /// Takes over what a terminated owner may have charged. At a single processor the payment waits, to be charged
    /// there again: a charge that is stored already is answered by 422.
    /// </summary>
    /// <param name="mayBeAt">As its row says; empty where it was surely not sent.</param>
    /// <param name="since">Monotonic timestamp: by then the earlier owner has stopped sending.</param>
    public NextStep Adopt(ProcessorSet mayBeAt, long since)
    {
        Assert(Phase == PaymentPhase.Waiting && RequestedAt == default, nameof(Adopt));
        // Where a processor has said that it has the payment, the marks of earlier owners say nothing more.
        if (!IsHeld)
            MayBeAt = mayBeAt;
        if (!MayBeStored)
            return NextStep.WaitBehind;

        DoubtSince = since;
        return IsHeld || !MayBeAt.IsSingle ? Doubt() : NextStep.WaitBehind;
    }

    /// <summary>
    /// Its instance's next epoch takes it over, as it is: this process knows where it may be. Nothing else uses it
    /// then.
    /// </summary>
    public NextStep Inherit(int owner)
    {
        Assert(Phase is PaymentPhase.Waiting or PaymentPhase.InDoubt, nameof(Inherit));
        Epoch = owner;
        return Phase == PaymentPhase.InDoubt ? NextStep.Resolve : NextStep.WaitBehind;
    }

    /// <summary>A waiting payment that may be somewhere is looked up there, because no charge can end its doubt
    /// now.</summary>
    public NextStep Doubt()
    {
        Assert(MayBeStored, nameof(Doubt));
        Move(PaymentPhase.Waiting, PaymentPhase.InDoubt, nameof(Doubt));
        _doubtedAt = MayBeAt;
        return NextStep.Resolve;
    }

    /// <summary>Notes what routing chose: the dearer processor that was passed over, or null.</summary>
    public void PassOver(Processor? dearer) => PassedOver = dearer;

    /// <summary>
    /// Begins a charge. A payment that may be at a processor is charged there or nowhere: this is the line that makes a
    /// second charge elsewhere impossible.
    /// </summary>
    /// <param name="now">UTC, whole microseconds; a repeat of this instance keeps the time of its first charge.</param>
    public void Charge(Processor processor, DateTime now)
    {
        Assert(
            !IsHeld && !IsRejected && (!MayBeStored || MayBeAt == ProcessorSet.Of(processor)), nameof(Charge));
        var wasInDoubt = Phase == PaymentPhase.InDoubt;
        Move(wasInDoubt ? PaymentPhase.InDoubt : PaymentPhase.Waiting, PaymentPhase.Charging, nameof(Charge));
        if (!wasInDoubt || RequestedAt == default)
            RequestedAt = now;
        _isRepeat = MayBeStored;
        MayBeAt = ProcessorSet.Of(processor);
    }

    /// <summary>The first byte of a charge leaves.</summary>
    public void Send()
    {
        if (Attempts < short.MaxValue)
            _attempts++;
    }

    /// <summary>The end of a charge, by the table above.</summary>
    /// <param name="now">Monotonic timestamp from after the answer.</param>
    public NextStep Answer(Processor processor, ChargeResult result, long now)
    {
        if (Phase != PaymentPhase.Charging || MayBeAt != ProcessorSet.Of(processor))
            Assert(false, $"{processor} answered {result}");
        var next = result switch
        {
            ChargeResult.Settled => NextStep.Record,
            ChargeResult.Refused when !_isRepeat => NextStep.WaitBehind,
            ChargeResult.Rejected when !_isRepeat => NextStep.Park,
            _ => NextStep.Resolve,
        };
        Move(PaymentPhase.Charging, next switch
        {
            NextStep.Record => PaymentPhase.Settled,
            NextStep.WaitBehind => PaymentPhase.Waiting,
            NextStep.Park => PaymentPhase.Parked,
            _ => PaymentPhase.InDoubt,
        }, nameof(Answer));
        if (result == ChargeResult.Refused)
            RefusedAt |= MayBeAt;
        // A clear refusal tells of its own call alone: a first charge is nowhere then, and a repeat leaves the doubt of
        // an earlier call as it was. An adopted payment's doubt may begin later than now.
        if (result is not (ChargeResult.Refused or ChargeResult.Rejected))
            DoubtSince = Math.Max(now, DoubtSince);
        else if (!_isRepeat)
            MayBeAt = default;
        IsRejected = result == ChargeResult.Rejected;
        if (result == ChargeResult.AlreadyStored)
            Hold(processor.Id);
        _doubtedAt = MayBeAt;
        return next;
    }

    /// <summary>Proof that a processor has not stored it.</summary>
    /// <returns>WaitBehind when it is nowhere now; Resolve while it may be elsewhere.</returns>
    public NextStep Absent(Processor processor)
    {
        Assert(!IsHeld, nameof(Absent));
        return Leave(ProcessorSet.Of(processor), nameof(Absent));
    }

    /// <summary>An operator's word that these processors have not charged it, which outweighs a 422.</summary>
    /// <inheritdoc cref="Absent"/>
    public NextStep Overrule(ProcessorSet absent)
    {
        var next = Leave(absent, nameof(Overrule));
        HeldBy = 0;
        return next;
    }

    /// <summary>No look-up past the horizon has found what the processor rejected.</summary>
    public NextStep Reject()
    {
        Assert(IsRejected && !IsHeld, nameof(Reject));
        Move(PaymentPhase.InDoubt, PaymentPhase.Parked, nameof(Reject));
        return NextStep.Park;
    }

    /// <summary>A look-up found it at a processor.</summary>
    public NextStep Find(Processor processor)
    {
        Assert(MayBeAt.Contains(processor), nameof(Find));
        Move(PaymentPhase.InDoubt, PaymentPhase.Settled, nameof(Find));
        return NextStep.Record;
    }

    /// <summary>The id. Log lines take the payment itself, so that they also carry its trace.</summary>
    public override string ToString() => Id.ToString();

    private void Hold(short processor) => (HeldBy, MayBeAt) = (processor, ProcessorSet.Of(processor));

    private NextStep Leave(ProcessorSet absent, string transition)
    {
        Assert(MayBeStored && Phase == PaymentPhase.InDoubt, transition);
        MayBeAt = MayBeAt.Without(absent);
        if (MayBeStored)
            return NextStep.Resolve;

        Move(PaymentPhase.InDoubt, PaymentPhase.Waiting, transition);
        IsRejected = false;
        // With several processors, some may never have got the payment.
        if (_doubtedAt.IsSingle)
            MissingAt |= _doubtedAt;
        return NextStep.WaitBehind;
    }

    private void Move(PaymentPhase from, PaymentPhase to, string transition) =>
        Assert(Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from, transition);

    private void Assert(bool holds, string transition)
    {
        if (holds)
            return;

        var from = (PaymentPhase)Interlocked.Exchange(ref _phase, (int)PaymentPhase.Broken);
        throw new BrokenLifeException(this, string.Create(
            CultureInfo.InvariantCulture,
            $"{transition} in phase {from}, may be at {MayBeAt.Bits}, held by {HeldBy}: a fault of this program"));
    }
}

/// <summary>Where a payment is in its life at this instance.</summary>
internal enum PaymentPhase
{
    /// <summary>In the queue or on its way there; no charge is in flight.</summary>
    Waiting,

    /// <summary>A charge is in flight, or about to be.</summary>
    Charging,

    /// <summary>The resolver has it.</summary>
    InDoubt,

    /// <summary>A processor has it; the outcome is being recorded.</summary>
    Settled,

    /// <summary>A processor rejected it for good, and an operator decides.</summary>
    Parked,

    /// <summary>An assertion failed: nothing is sent or written for it any more but that it is parked.</summary>
    Broken,
}

/// <summary>What follows a transition.</summary>
internal enum NextStep
{
    /// <summary>The outcome is written into the ledger.</summary>
    Record,

    /// <summary>It goes to the queue, and is charged when its turn comes.</summary>
    WaitBehind,

    /// <summary>The resolver finds out whether a processor has it.</summary>
    Resolve,

    /// <summary>It is set aside for an operator.</summary>
    Park,
}

/// <summary>The kinds of answers to a charge that the contract distinguishes.</summary>
internal enum ChargeResult
{
    /// <summary>200: the processor has stored the payment.</summary>
    Settled,

    /// <summary>422: an earlier call was stored; a look-up gives its requestedAt.</summary>
    AlreadyStored,

    /// <summary>500 without a body, 429, not a byte sent: surely not stored by this call.</summary>
    Refused,

    /// <summary>400: not stored, and a repeat would not be stored either.</summary>
    Rejected,

    /// <summary>Timeout, broken connection, 500 with a body, another 4xx, anything else: perhaps stored.</summary>
    Unclear,
}

/// <summary>A transition that a payment's phase does not allow: a fault of this program.</summary>
internal sealed class BrokenLifeException(Payment payment, string message) : Exception(message)
{
    public Payment Payment => payment;
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

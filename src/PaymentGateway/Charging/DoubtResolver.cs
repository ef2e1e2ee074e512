using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Charging;

/// <summary>
/// Resolves payments in doubt by look-ups, or by the same charge again at the same processor.
/// </summary>
/// <remarks>
/// <para>
/// A payment is in doubt when a charge was sent and no clear answer came: the processor may have stored it. A payment
/// leaves the doubt by proof alone, because another processor would charge it a second time. Four answers, and what
/// they prove:
/// </para>
/// <code>
///   look-up 200   the processor has it, with this amount and time     settled
///   charge  200   the processor has it now                            settled
///   charge  422   the processor has it; its look-up tells the time    held: only look-ups there from now on
///   look-up 404   by itself nothing
/// </code>
/// <para>
/// <i>When a 404 is proof.</i> A proxy that lost its route answers 404, and so does a replica that lags, or one that
/// stopped following its primary an hour ago. So three things are asked. First, the horizon has passed since a charge
/// may last have been sent, so that nothing can be stored later. Second, a payment K is known to be stored there whose
/// charge was sent after that horizon. Third, the look-up of K finds it, just before and just after the look-up of the
/// payment (<see cref="KnownPayments"/>): the copy that answers has K, so it has everything that was stored before K.
/// Without such a K the payment waits for the next payment that is settled there. When this instance could have settled
/// others for a quarter of a horizon and has no newer K, the time is quiet: nothing else would ever end the doubt. Then
/// an older K is taken where several processors may have the payment and this one is usable. A replica that stopped
/// following its primary could deceive that, if this instance has not noticed an outage there (operations.md). Where it
/// has noticed one and its circuit is still open, a K is taken that another instance charged a horizon later than this
/// payment's horizon ended.
/// </para>
/// <para>
/// <i>When it is charged again.</i> While a single processor may have the payment, the same charge is sent there again:
/// the first to arrive is stored, and the other one gets 422. Before the horizon this ends most doubts. It also ends a
/// doubt in a quiet time, where the processor takes charges: one payment at a time is charged again, because its 200
/// makes a K for the others.
/// </para>
/// <para>
/// <i>An example.</i> An instance that has used default and fallback is killed with a thousand payments that it had not
/// sent. Its adopter cannot know that, so they are in doubt at both. After the horizon default settles a new payment,
/// by which the thousand are proven absent there. The adopter never used fallback, and has no K of it. So in a quiet
/// time one of the thousand is charged there; it is the K of fallback. The other 999 are proven absent there, too, and
/// go to default.
/// </para>
/// <para>
/// <i>After a 422</i> no 404 and no horizon count any more, because the processor itself has said that it has the
/// payment. The ledger keeps that word (payments.held_by) for every later owner. An operator who knows better ends it.
/// </para>
/// <para>
/// All processors of a set are asked at once, because a silent one must not delay what another one can settle.
/// </para>
/// </remarks>
internal sealed partial class DoubtResolver(
    Lease lease, ProcessorLanes lanes, OwnedPayments owned, DoubtNotes notes, SettlementLedger ledger,
    DetachedTasks detached, GatewayMetrics metrics, TimeProvider clock, ILogger<DoubtResolver> log)
    : BackgroundService
{
    private static readonly TimeSpan BackoffInitial = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LogEvery = TimeSpan.FromMinutes(1);

    // How long a look-up waits for a permit while other processors may settle the payment.
    private static readonly TimeSpan PermitWithin = TimeSpan.FromSeconds(1);

    private readonly Dictionary<ProcessorLane, KnownPayments> _known = lanes.All.ToDictionary(
        lane => lane, lane => new KnownPayments(lane, ledger, clock));

    private readonly ResolvingWait _wait = new();
    private long _loggedAt;

    protected override Task ExecuteAsync(CancellationToken stoppingToken) => lease.RunEachAsync(
        async (epoch, ends) =>
        {
            await foreach (var payment in epoch.Doubts.TakeAllAsync(ends))
                detached.Add(ResolveAsync(epoch, payment, ends));
        },
        stoppingToken);

    private async Task ResolveAsync(Epoch epoch, Payment payment, CancellationToken ends)
    {
        var mayBeAt = payment.MayBeAt;
        epoch.Enter();
        try
        {
            var backoff = new Backoff(BackoffInitial);
            var began = clock.GetTimestamp();
            // Since when this instance could have settled other payments past the horizon of this one.
            long? pastSince = null;
            while (true)
            {
                var horizon = lanes.HorizonOf(payment.MayBeAt);
                pastSince = !owned.AdmitsCharges(epoch) || clock.GetElapsedTime(payment.DoubtSince) < horizon
                    ? null : pastSince ?? clock.GetTimestamp();
                var isQuiet = pastSince is { } since && clock.GetElapsedTime(since) >= horizon / 4;
                var step = owned.AdmitsCharges(epoch)
                    ? await TryAsync(epoch, payment, began, isQuiet, ends)
                    : ResolvingStep.Again("this instance has no lease, or its ledger is behind");
                if (step.Done)
                    return;

                LogWhatLasts(epoch, payment, began, step.Why);
                var rest = pastSince is { } past && !isQuiet
                    ? (horizon / 4) - clock.GetElapsedTime(past)
                    : lanes.HorizonOf(payment.MayBeAt) - clock.GetElapsedTime(payment.DoubtSince);
                var wait = _wait.Next(backoff.Next(ResolvingWait.Longest(epoch.Doubts.Count)), rest);
                await Task.Delay(wait, clock, ends);
            }
        }
        catch (OperationCanceledException)
        {
            // The payment stays in doubt: a stop releases it as such, or the next epoch takes it over.
        }
        catch (BrokenLifeException broken)
        {
            notes.End(payment);
            detached.Add(owned.BreakAsync(epoch, broken));
        }
        finally
        {
            epoch.Doubts.Leave(mayBeAt);
            epoch.Leave();
        }
    }

    private async Task<ResolvingStep> TryAsync(
        Epoch epoch, Payment payment, long began, bool isQuiet, CancellationToken ends)
    {
        try
        {
            return await LookUpAsync(epoch, payment, began, isQuiet, ends);
        }
        catch (Exception failed) when (payment.Phase == PaymentPhase.InDoubt && !ends.IsCancellationRequested)
        {
            // A failure ends no doubt: try again, otherwise the payment would stay in doubt for ever. One that comes
            // after the doubt's end is no failure of the doubt, and ends the instance (DetachedTasks).
            Log.ResolvingFailed(log, payment, failed.Message);
            return ResolvingStep.Again(failed.Message);
        }
    }

    private async Task<ResolvingStep> LookUpAsync(
        Epoch epoch, Payment payment, long began, bool isQuiet, CancellationToken ends)
    {
        // Read before the look-ups: an earlier call may be stored between a look-up's answer and the horizon's end.
        var horizonEnd = payment.DoubtSince + clock.TicksOf(lanes.HorizonOf(payment.MayBeAt));
        var isPastHorizon = clock.GetTimestamp() >= horizonEnd;
        // A silent processor must not keep the epoch from its rest. Of what is not waited for, nothing is used.
        var answers = await AskAllAsync(payment, ends).WaitAsync(ends);
        if (answers.Find(IsFound) is { Lane: not null } found)
            return Found(epoch, payment, found.Lane, found.Outcome);

        // After the look-ups, because a processor that has the payment knows better than an operator.
        if (isPastHorizon && notes.EndedAt(payment) is { IsEmpty: false } ended)
            return await OverruleAsync(epoch, payment, ended);

        if (payment.IsHeld)
            return ResolvingStep.Again("a charge was answered by 422, and no look-up finds the payment");

        var absent = answers.FindAll(IsNotFound);
        if (absent.Count == 0)
            return ResolvingStep.Again("no look-up has an answer");

        var rejecting = payment.IsRejected && payment.MayBeAt.IsSingle ? absent.Find(IsOfPayment).Lane : null;
        if (rejecting is not null && isPastHorizon)
        {
            payment.Reject();
            notes.End(payment);
            detached.Add(owned.ParkAsync(
                epoch, payment, rejecting.Processor, $"{rejecting.Processor} answered 400"));
            return ResolvingStep.Ended;
        }

        if (isPastHorizon)
        {
            var proofs = await Task.WhenAll(absent.ConvertAll(async answer => new Answer(
                answer.Lane, await _known[answer.Lane].ProveAbsenceAsync(
                    payment, horizonEnd, isQuiet ? OldestKnown(answer.Lane) : null, ends)))).WaitAsync(ends);
            if (Array.Find(proofs, IsFound) is { Lane: not null } late)
                return Found(epoch, payment, late.Lane, late.Outcome);

            foreach (var proof in proofs.Where(IsNotFound))
                if (payment.Absent(proof.Lane.Processor) == NextStep.WaitBehind)
                    return Requeue(epoch, payment);
        }

        var only = payment.MayBeAt.IsSingle ? absent.Find(IsOfPayment).Lane : null;
        // Each such charge restarts the horizon. So those before it end after one horizon, and those past it wait for a
        // quiet time: otherwise a processor that breaks each of them would keep the payment in doubt for ever.
        if (only is not null && !payment.IsRejected && (isQuiet ? only.TryBeginRepeatAlone()
            : !isPastHorizon && clock.GetElapsedTime(began) < lanes.HorizonOf(payment.MayBeAt)))
            try
            {
                return await ChargeAgainAsync(epoch, payment, only);
            }
            finally
            {
                if (isQuiet)
                    only.EndRepeatAlone();
            }

        return ResolvingStep.Again(isPastHorizon
            ? "404, and no look-up finds a payment that was settled there since" : "404 before the horizon");

        // A single processor that takes charges is charged again instead, which needs no proof. An open circuit says
        // that there was an outage, since which an old copy of the processor may answer. No payment may come to this
        // instance that closes the circuit, so a payment will do that another instance has charged there since: by a
        // whole horizon later, because the clocks of two instances differ.
        DateTime? OldestKnown(ProcessorLane lane) => payment.MayBeAt.IsSingle && lane.IsEnabled ? null
            : lane.Health.Read().Availability == Availability.Usable ? DateTime.MinValue
            : clock.GetUtcNow().UtcDateTime - clock.GetElapsedTime(horizonEnd) + lane.Horizon;

        bool IsOfPayment(Answer answer) => payment.MayBeAt.Contains(answer.Lane.Processor);
    }

    private async Task<ResolvingStep> OverruleAsync(Epoch epoch, Payment payment, ProcessorSet ended)
    {
        await owned.UnholdAsync(payment);
        Log.NotCharged(log, payment);
        return payment.Overrule(ended) == NextStep.WaitBehind
            ? Requeue(epoch, payment)
            : ResolvingStep.Again("an operator's word has ended it at another processor");
    }

    /// <summary>Looks a payment up at all processors that may have it, at once.</summary>
    /// <returns>The answers of all, or the first one that has the payment.</returns>
    private async Task<List<Answer>> AskAllAsync(Payment payment, CancellationToken ends)
    {
        // A processor that was removed from the configuration cannot be asked.
        var asked = lanes.In(payment.MayBeAt);
        if (asked is [var only])
            return [new Answer(only, await only.LookUpAsync(payment, ends))];

        using var late = new CancellationTokenSource(PermitWithin, clock);
        using var pass = CancellationTokenSource.CreateLinkedTokenSource(ends, late.Token);
        var calls = asked.ConvertAll(lane => AskAsync(lane, payment, pass.Token));
        for (var open = calls.ToList(); open.Count > 0;)
        {
            var answered = await Task.WhenAny(open);
            open.Remove(answered);
            if (!IsFound(await answered))
                continue;

            // Look-ups that wait for a permit end; those in flight are not waited for.
            await pass.CancelAsync();
            return [await answered];
        }

        ends.ThrowIfCancellationRequested();
        return [.. await Task.WhenAll(calls)];
    }

    private static async Task<Answer> AskAsync(ProcessorLane lane, Payment payment, CancellationToken cancellation)
    {
        try
        {
            return new Answer(lane, await lane.LookUpAsync(payment, cancellation));
        }
        catch (OperationCanceledException)
        {
            // Without a permit in time nothing is known.
            return new Answer(lane, new LookupOutcome(LookupResult.Unknown));
        }
    }

    private static bool IsFound(Answer answer) => answer.Outcome.Result == LookupResult.Found;

    private static bool IsNotFound(Answer answer) => answer.Outcome.Result == LookupResult.NotFound;

    // Id, requestedAt and processor stay the same: the first call to arrive is stored, the other gets 422.
    private async Task<ResolvingStep> ChargeAgainAsync(Epoch epoch, Payment payment, ProcessorLane lane)
    {
        // The epoch may have ended during the look-up.
        if (!owned.AdmitsCharges(epoch) || !lane.IsEnabled
            || lane.Health.Read().Availability == Availability.Unusable || !lane.TryAcquire())
            return ResolvingStep.Again("404, and the processor takes no charge now");

        var outcome = await lane.ChargeAsync(payment);
        if (outcome.Result == ChargeResult.AlreadyStored)
            notes.Hold(payment);
        if (outcome.Next != NextStep.Record)
            return ResolvingStep.Again($"404, and the same charge again ended as {outcome.Reason}");

        metrics.Resolved.Add(1, Resolutions.ChargedAgain);
        return Settle(epoch, payment, lane, payment.AmountCents, payment.RequestedAt);
    }

    private ResolvingStep Found(Epoch epoch, Payment payment, ProcessorLane lane, LookupOutcome found)
    {
        if (found.AmountCents != payment.AmountCents)
            Log.AmountDiffers(log, payment, lane.Processor);

        metrics.Resolved.Add(1, Resolutions.Found);
        payment.Find(lane.Processor);
        return Settle(epoch, payment, lane, found.AmountCents, found.RequestedAt);
    }

    private ResolvingStep Settle(
        Epoch epoch, Payment payment, ProcessorLane lane, long amountCents, DateTime requestedAt)
    {
        Log.Resolved(log, payment, $"{lane.Processor} has it");
        notes.Forget(payment);
        owned.Settle(epoch, payment, lane.Processor, amountCents, requestedAt);
        return ResolvingStep.Ended;
    }

    private ResolvingStep Requeue(Epoch epoch, Payment payment)
    {
        Log.Resolved(log, payment, "no processor has it");
        metrics.Resolved.Add(1, Resolutions.NotCharged);
        notes.End(payment);
        epoch.Queue.Return(payment);
        return ResolvingStep.Ended;
    }

    // One line a minute for all, because thousands may wait for the same processor.
    private void LogWhatLasts(Epoch epoch, Payment payment, long began, string why)
    {
        var (age, logged) = (clock.GetElapsedTime(began), Volatile.Read(ref _loggedAt));
        if (age < LogEvery || (logged != 0 && clock.GetElapsedTime(logged) < LogEvery))
            return;

        if (Interlocked.CompareExchange(ref _loggedAt, clock.GetTimestamp(), logged) == logged)
            Log.DoubtLasts(
                log, epoch.Doubts.Count, payment,
                string.Join(" or ", lanes.In(payment.MayBeAt).Select(lane => lane.Processor.Name).Append(
                    lanes.In(payment.MayBeAt).Count < payment.MayBeAt.Count ? "one that is not configured" : null)
                    .OfType<string>()),
                (long)age.TotalSeconds, why);
    }

    private readonly record struct Answer(ProcessorLane Lane, LookupOutcome Outcome);

    private static partial class Log
    {
        [LoggerMessage(410, LogLevel.Error, "Failed to resolve the doubt of payment {CorrelationId}: {Reason}")]
        public static partial void ResolvingFailed(ILogger log, Payment correlationId, string reason);

        [LoggerMessage(411, LogLevel.Warning,
            "Payment {CorrelationId}: {Processor} has stored another amount than was accepted")]
        public static partial void AmountDiffers(ILogger log, Payment correlationId, Processor processor);

        [LoggerMessage(412, LogLevel.Warning,
            "{Count} payments are in doubt; {CorrelationId} has been for {AgeSeconds} s, at {Where}: {Why}")]
        public static partial void DoubtLasts(
            ILogger log, int count, Payment correlationId, string where, long ageSeconds, string why);

        [LoggerMessage(417, LogLevel.Warning,
            "An operator's word that a processor has not charged payment {CorrelationId} ended its doubt there")]
        public static partial void NotCharged(ILogger log, Payment correlationId);

        [LoggerMessage(413, LogLevel.Debug, "The doubt of payment {CorrelationId} ended: {Found}")]
        public static partial void Resolved(ILogger log, Payment correlationId, string found);
    }
}

/// <summary>Why the doubt lasts, unless it is done.</summary>
internal readonly record struct ResolvingStep(bool Done, string Why)
{
    public static readonly ResolvingStep Ended = new(true, "");

    public static ResolvingStep Again(string why) => new(false, why);
}

/// <summary>How long a payment in doubt waits for its next try. Safe from any thread.</summary>
internal sealed class ResolvingWait
{
    private static readonly TimeSpan Maximum = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan BetweenAny = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan HorizonSpread = TimeSpan.FromSeconds(1);

    private readonly Random _jitter = new(Environment.ProcessId);

    /// <summary>Keeps all doubts together to 500 tries a second: 2 ms each, doubled because jitter halves it.</summary>
    public static TimeSpan Longest(int count) =>
        BetweenAny * 2 * count is var wait && wait > Maximum ? wait : Maximum;

    /// <summary>No wait goes far beyond the horizon, because the first look-up past it may end the doubt.</summary>
    /// <param name="untilHorizon">Zero or less when it has passed.</param>
    public TimeSpan Next(TimeSpan delay, TimeSpan untilHorizon)
    {
        var wait = Jittered(delay);
        return untilHorizon > TimeSpan.Zero && wait > untilHorizon ? untilHorizon + Jittered(HorizonSpread) : wait;
    }

    // Full jitter: payments that fell into doubt together must not come back together.
    private TimeSpan Jittered(TimeSpan delay)
    {
        lock (_jitter)
            return delay * _jitter.NextDouble();
    }
}

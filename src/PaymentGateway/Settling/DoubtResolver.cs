using PaymentGateway.Processors;
using PaymentGateway.Queueing;
using PaymentGateway.Routing;
using PaymentGateway.Storage;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Settling;

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
///   look-up 404   nothing, without the next paragraph
/// </code>
/// <para>
/// A 404 proves that a processor has not stored the payment when two things hold. <i>Nothing can be stored later</i>:
/// the horizon has passed since the last moment at which a charge may have been sent, and it had passed before the
/// look-up.
/// <i>The processor itself has answered, from all that it has</i>: an ingress that lost its route, a cache, or a
/// replica that lags answers 404, too. So a payment that is known to be there is looked up before and after (<see
/// cref="KnownPayments"/>): look-ups that find it go to the processor's payments. Doubts of one moment share these
/// look-ups. Where no payment is known or the known one is not found, the payment waits.
/// </para>
/// <para>
/// A 422 is the processor's word that it has the payment, so no 404 and no horizon count any more. The ledger keeps it
/// (payments.held_by), for every later owner. Another charge would only bring another 422. Only an operator's word
/// releases such a payment.
/// </para>
/// <para>
/// Each proven absence takes one processor out of the set; when none is left, the payment is routed as a new one. When
/// one is left that proves nothing, the payment is charged there again: the first call to arrive is stored, the other
/// gets 422. So a payment alone in its ledger, or one that may be at a processor that never settled anything, is
/// settled all the same. An example: an instance has used default and fallback and is killed. Its adopter knows
/// payments at default, which has not stored this one, and none at fallback. Default is taken out, and fallback is
/// charged.
/// </para>
/// <para>
/// All processors of a set are asked at once, because a silent one must not delay what another one can settle.
/// </para>
/// </remarks>
internal sealed partial class DoubtResolver(
    DoubtQueue doubts, ProcessorLanes lanes, PaymentQueue queue, OwnedPayments owned, SettlementLedger ledger,
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
    private CancellationToken _stopping;
    private long _loggedAt;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        _stopping = stoppingToken;
        await foreach (var payment in doubts.TakeAllAsync(stoppingToken))
            detached.Add(ResolveAsync(payment));
    }

    private async Task ResolveAsync(Payment payment)
    {
        var mayBeAt = payment.MayBeAt;
        try
        {
            if (payment.HeldBy != 0)
                detached.Add(owned.HoldAsync(payment));
            var backoff = new Backoff(BackoffInitial);
            var began = clock.GetTimestamp();
            while (owned.Owns(payment))
            {
                var step = owned.MayCharge
                    ? await TryAsync(payment, mayBeAt, began)
                    : ResolvingStep.Again("this instance has no lease, or its ledger is behind");
                if (step.Done)
                    return;

                LogWhatLasts(payment, began, step.Why);
                var rest = lanes.HorizonOf(payment.MayBeAt) - clock.GetElapsedTime(payment.DoubtSince);
                var wait = _wait.Next(backoff.Next(ResolvingWait.Longest(doubts.Count)), rest);
                await Task.Delay(step.RetryAfter + wait, clock, _stopping);
            }

            doubts.Forget(payment);
            owned.Drop(payment);
        }
        catch (OperationCanceledException)
        {
            // Stopping: the payment stays unsettled and is released in doubt.
        }
        finally
        {
            doubts.Leave(mayBeAt);
        }
    }

    private async Task<ResolvingStep> TryAsync(Payment payment, ProcessorSet mayHaveBeenAt, long began)
    {
        try
        {
            return await LookUpAsync(payment, mayHaveBeenAt, began);
        }
        catch (Exception failed) when (!_stopping.IsCancellationRequested)
        {
            // A failure ends no doubt: try again, otherwise the payment would stay in doubt for ever.
            Log.ResolvingFailed(log, payment, failed.Message);
            return ResolvingStep.Again(failed.Message);
        }
    }

    private async Task<ResolvingStep> LookUpAsync(Payment payment, ProcessorSet mayHaveBeenAt, long began)
    {
        // Read before the look-ups: an earlier call may be stored between a look-up's answer and the horizon's end.
        var isPastHorizon = clock.GetElapsedTime(payment.DoubtSince) >= lanes.HorizonOf(payment.MayBeAt);
        var answers = await AskAllAsync(payment);
        if (answers.Find(IsFound) is { Lane: not null } found)
            return Found(payment, found.Lane, found.Outcome);

        var retryAfter = answers.Max(answer => answer.Outcome.RetryAfter);
        var absent = answers.FindAll(IsNotFound);
        if (payment.HeldBy != 0 && !(isPastHorizon && doubts.WithoutEnded(payment).IsEmpty))
            return ResolvingStep.Again("a charge was answered by 422, and no look-up finds the payment", retryAfter);

        if (isPastHorizon && absent.Count > 0)
        {
            var proofs = await Task.WhenAll(absent.ConvertAll(async answer => new Answer(
                answer.Lane, await _known[answer.Lane].ProveAbsenceAsync(payment, _stopping))));
            if (Array.Find(proofs, IsFound) is { Lane: not null } late)
                return Found(payment, late.Lane, late.Outcome);

            foreach (var proof in proofs.Where(IsNotFound))
                payment.MayBeAt = payment.MayBeAt.Without(proof.Lane.Processor);
            if (!payment.InDoubt)
                return Requeue(payment, mayHaveBeenAt);
        }

        // After the look-ups, because a processor that has the payment knows better than an operator.
        if (isPastHorizon && doubts.WithoutEnded(payment) is var left && left != payment.MayBeAt)
        {
            Log.NotCharged(log, payment);
            payment.MayBeAt = left;
            return payment.InDoubt
                ? ResolvingStep.Again("an operator's word has ended it at another processor", retryAfter)
                : Requeue(payment, mayHaveBeenAt);
        }

        // Each such charge restarts the horizon. Before it, they stop after one horizon, otherwise a processor that
        // breaks each of them would keep the payment in doubt for ever; past it, no proof is at hand that they delay.
        var only = lanes.In(payment.MayBeAt) is [var last] && payment.MayBeAt.IsSingle ? last : null;
        if (absent.Exists(answer => answer.Lane == only)
            && (isPastHorizon || clock.GetElapsedTime(began) < lanes.HorizonOf(payment.MayBeAt)))
            return await ChargeAgainAsync(payment, only!);

        return ResolvingStep.Again(
            absent.Count == 0 ? "no look-up has an answer"
            : isPastHorizon ? "404, and no look-up finds a payment that is known to be there"
            : "404 before the horizon",
            retryAfter);
    }

    /// <summary>Looks a payment up at all processors that may have it, at once.</summary>
    /// <returns>The answers of all, or the first one that has the payment.</returns>
    private async Task<List<Answer>> AskAllAsync(Payment payment)
    {
        // A processor that was removed from the configuration cannot be asked.
        var asked = lanes.In(payment.MayBeAt);
        if (asked is [var only])
            return [new Answer(only, await only.LookUpAsync(payment, _stopping))];

        using var late = new CancellationTokenSource(PermitWithin, clock);
        using var pass = CancellationTokenSource.CreateLinkedTokenSource(_stopping, late.Token);
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

        _stopping.ThrowIfCancellationRequested();
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
    private async Task<ResolvingStep> ChargeAgainAsync(Payment payment, ProcessorLane lane)
    {
        // A purge or the lease's end may have come during the look-up. ChargeContent would also send nothing, but its
        // exception counts as a failed call: a few would open the circuit of a healthy processor.
        if (!owned.MayCharge || !owned.Owns(payment) || !lane.IsEnabled
            || lane.Health.Read().Availability == Availability.Unusable || !lane.TryAcquire())
            return ResolvingStep.Again("404, and the processor takes no charge now");

        // An adopted payment has no charge of this instance yet; each repeat has the time of the first one.
        if (payment.RequestedAt == default)
            payment.RequestedAt = clock.UtcMicroseconds();
        var outcome = await lane.ChargeAsync(payment);
        if (payment.HeldBy != 0)
            detached.Add(owned.HoldAsync(payment));
        if (outcome.Result != ChargeResult.Settled)
            return ResolvingStep.Again($"404, and the same charge again ended as {outcome.Reason}", outcome.RetryAfter);

        metrics.Resolved.Add(1, Resolutions.ChargedAgain);
        return Settle(payment, lane, payment.AmountCents, payment.RequestedAt);
    }

    private ResolvingStep Found(Payment payment, ProcessorLane lane, LookupOutcome found)
    {
        if (found.AmountCents != payment.AmountCents)
            Log.AmountDiffers(log, payment, lane.Processor);

        metrics.Resolved.Add(1, Resolutions.Found);
        return Settle(payment, lane, found.AmountCents, found.RequestedAt);
    }

    private ResolvingStep Settle(Payment payment, ProcessorLane lane, long amountCents, DateTime requestedAt)
    {
        Log.Resolved(log, payment, $"{lane.Processor} has it");
        doubts.Forget(payment);
        owned.Settle(payment, lane.Processor, amountCents, requestedAt);
        return ResolvingStep.Ended;
    }

    private ResolvingStep Requeue(Payment payment, ProcessorSet mayHaveBeenAt)
    {
        // With several processors, some may never have got the payment.
        if (mayHaveBeenAt.IsSingle)
            payment.MissingAt |= mayHaveBeenAt;
        if (payment.HeldBy != 0)
        {
            payment.Release();
            detached.Add(owned.HoldAsync(payment));
        }

        Log.Resolved(log, payment, "no processor has it");
        metrics.Resolved.Add(1, Resolutions.NotCharged);
        doubts.End(payment);
        queue.Return(payment);
        return ResolvingStep.Ended;
    }

    // One line a minute for all, because thousands may wait for the same processor.
    private void LogWhatLasts(Payment payment, long began, string why)
    {
        var (age, logged) = (clock.GetElapsedTime(began), Volatile.Read(ref _loggedAt));
        if (age < LogEvery || (logged != 0 && clock.GetElapsedTime(logged) < LogEvery))
            return;

        if (Interlocked.CompareExchange(ref _loggedAt, clock.GetTimestamp(), logged) == logged)
            Log.DoubtLasts(
                log, doubts.Count, payment,
                string.Join(" or ", lanes.In(payment.MayBeAt).Select(lane => lane.Processor.Name).Append(
                    lanes.In(payment.MayBeAt).Count < payment.MayBeAt.Count ? "one that is not configured" : null)
                    .OfType<string>()),
                (long)age.TotalSeconds, why);
    }

    private readonly record struct Answer(ProcessorLane Lane, LookupOutcome Outcome);

    private static partial class Log
    {
        [LoggerMessage(410, LogLevel.Error, "Payment {CorrelationId} stays in doubt: {Reason}")]
        public static partial void ResolvingFailed(ILogger log, Payment correlationId, string reason);

        [LoggerMessage(411, LogLevel.Warning,
            "Payment {CorrelationId}: {Processor} has stored another amount than was accepted")]
        public static partial void AmountDiffers(ILogger log, Payment correlationId, Processor processor);

        [LoggerMessage(412, LogLevel.Warning,
            "{Count} payments are in doubt, {CorrelationId} at {Where} for {AgeSeconds} s: {Why}")]
        public static partial void DoubtLasts(
            ILogger log, int count, Payment correlationId, string where, long ageSeconds, string why);

        [LoggerMessage(417, LogLevel.Warning,
            "Payment {CorrelationId} was not charged by a processor, as an operator has said")]
        public static partial void NotCharged(ILogger log, Payment correlationId);

        [LoggerMessage(413, LogLevel.Debug, "The doubt of payment {CorrelationId} ended: {Found}")]
        public static partial void Resolved(ILogger log, Payment correlationId, string found);
    }
}

/// <summary>Why the doubt lasts. RetryAfter is the pause that the processor asked for.</summary>
internal readonly record struct ResolvingStep(bool Done, TimeSpan RetryAfter, string Why)
{
    public static readonly ResolvingStep Ended = new(true, TimeSpan.Zero, "");

    public static ResolvingStep Again(string why, TimeSpan? retryAfter = null) =>
        new(false, retryAfter ?? TimeSpan.Zero, why);
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

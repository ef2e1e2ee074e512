using PaymentGateway.Processors;
using PaymentGateway.Queueing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Settling;

/// <summary>
/// Resolves payments in doubt by look-ups, or by the same charge again at the same processor. A payment may go to
/// another processor only after look-ups answer 404 past the horizon, or an operator says that it was not charged.
/// </summary>
internal sealed partial class DoubtResolver(
    DoubtQueue doubts, ProcessorLanes lanes, PaymentQueue queue, OwnedPayments owned, DetachedTasks detached,
    GatewayMetrics metrics, TimeProvider clock, ILogger<DoubtResolver> log) : BackgroundService
{
    private static readonly TimeSpan BackoffInitial = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LogEvery = TimeSpan.FromMinutes(1);

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
            var backoff = new Backoff(BackoffInitial);
            var began = clock.GetTimestamp();
            while (owned.Owns(payment))
            {
                var step = owned.MayCharge ? await TryAsync(payment, began) : ResolvingStep.Again(null);
                if (step.Done)
                    return;

                LogWhatLasts(payment, began);
                var rest = lanes.HorizonOf(mayBeAt) - clock.GetElapsedTime(payment.DoubtSince);
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

    private async Task<ResolvingStep> TryAsync(Payment payment, long began)
    {
        try
        {
            return await LookUpAsync(payment, began);
        }
        catch (Exception failed) when (!_stopping.IsCancellationRequested)
        {
            // A failure ends no doubt: try again, otherwise the payment would stay in doubt for ever.
            Log.ResolvingFailed(log, payment, failed.Message);
            return ResolvingStep.Again(null);
        }
    }

    // Asks every processor that may have stored the payment.
    private async Task<ResolvingStep> LookUpAsync(Payment payment, long began)
    {
        // Read before the look-ups: an earlier call may be stored between a look-up's answer and the horizon's end.
        var isPastHorizon = clock.GetElapsedTime(payment.DoubtSince) >= lanes.HorizonOf(payment.MayBeAt);
        var asked = lanes.In(payment.MayBeAt);
        // A processor that was removed from the configuration cannot be asked.
        var (isNowhere, retryAfter) = (asked.Count == payment.MayBeAt.Count, default(TimeSpan?));
        foreach (var lane in asked)
        {
            var lookup = await lane.LookUpAsync(payment, _stopping);
            if (lookup.Result == LookupResult.Found)
                return Found(payment, lane, lookup);

            isNowhere &= lookup.Result == LookupResult.NotFound;
            retryAfter ??= lookup.RetryAfter;
        }

        // After the look-ups, because a processor that has the payment knows better than an operator.
        if (isPastHorizon && doubts.WithoutEnded(payment) is var left && left != payment.MayBeAt)
        {
            Log.NotCharged(log, payment);
            payment.MayBeAt = left;
            return payment.InDoubt ? ResolvingStep.Again(retryAfter) : Requeue(payment);
        }

        if (isNowhere && isPastHorizon)
            return Requeue(payment);

        return isNowhere && asked is [var only]
            ? await ChargeAgainAsync(payment, only, began)
            : ResolvingStep.Again(retryAfter);
    }

    // Id, requestedAt and processor stay the same: the first call to arrive is stored, the other gets 422.
    private async Task<ResolvingStep> ChargeAgainAsync(Payment payment, ProcessorLane lane, long began)
    {
        // Each such charge restarts the horizon, so they stop after one horizon; otherwise a processor that breaks each
        // of them would keep the payment in doubt for ever. A purge or the lease's end may have come during the
        // look-up. ChargeContent would also send nothing, but its exception counts as a failed call: a few would open
        // the circuit of a healthy processor.
        if (clock.GetElapsedTime(began) >= lanes.HorizonOf(payment.MayBeAt)
            || !owned.MayCharge || !owned.Owns(payment) || !lane.IsEnabled
            || lane.Health.Read().Availability == Availability.Unusable || !lane.TryAcquire())
            return ResolvingStep.Again(null);

        var outcome = await lane.ChargeAsync(payment);
        if (outcome.Result != ChargeResult.Settled)
            return ResolvingStep.Again(outcome.RetryAfter);

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

    private ResolvingStep Requeue(Payment payment)
    {
        // With several processors, some may never have got the payment.
        if (payment.MayBeAt.IsSingle)
            payment.MissingAt |= payment.MayBeAt;
        payment.MayBeAt = default;
        Log.Resolved(log, payment, "no processor has it");
        metrics.Resolved.Add(1, Resolutions.NotCharged);
        doubts.End(payment);
        queue.Return(payment);
        return ResolvingStep.Ended;
    }

    // One line a minute for all, because thousands may wait for the same processor.
    private void LogWhatLasts(Payment payment, long began)
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
                (long)age.TotalSeconds);
    }

    private static partial class Log
    {
        [LoggerMessage(410, LogLevel.Error, "Payment {CorrelationId} stays in doubt: {Reason}")]
        public static partial void ResolvingFailed(ILogger log, Payment correlationId, string reason);

        [LoggerMessage(411, LogLevel.Warning,
            "Payment {CorrelationId}: {Processor} has stored another amount than was accepted")]
        public static partial void AmountDiffers(ILogger log, Payment correlationId, Processor processor);

        [LoggerMessage(412, LogLevel.Warning,
            "{Count} payments are in doubt, {CorrelationId} at {Where} for {AgeSeconds} s")]
        public static partial void DoubtLasts(
            ILogger log, int count, Payment correlationId, string where, long ageSeconds);

        [LoggerMessage(417, LogLevel.Warning,
            "Payment {CorrelationId} was not charged by a processor, as an operator has said")]
        public static partial void NotCharged(ILogger log, Payment correlationId);

        [LoggerMessage(413, LogLevel.Debug, "The doubt of payment {CorrelationId} ended: {Found}")]
        public static partial void Resolved(ILogger log, Payment correlationId, string found);
    }
}

/// <summary>RetryAfter is the pause that the processor asked for.</summary>
internal readonly record struct ResolvingStep(bool Done, TimeSpan RetryAfter)
{
    public static readonly ResolvingStep Ended = new(true, TimeSpan.Zero);

    public static ResolvingStep Again(TimeSpan? retryAfter) => new(false, retryAfter ?? TimeSpan.Zero);
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

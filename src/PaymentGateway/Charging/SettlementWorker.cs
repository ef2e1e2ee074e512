using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;

namespace PaymentGateway.Charging;

/// <summary>
/// Takes payments from the queue, oldest first, waits until routing has a processor for each, and charges it there.
/// </summary>
internal sealed partial class SettlementWorker(
    Lease lease, ProcessorLanes lanes, OwnedPayments owned, DoubtNotes notes, DetachedTasks detached,
    GatewayOptions options, TimeProvider clock, ILogger<SettlementWorker> log)
    : BackgroundService
{
    // Time alone may change the route: a probe falls due, a fallback delay ends.
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    private readonly AsyncAutoResetEvent _progress = new(clock);
    private readonly SettlementRateLimiter _rateLimiter = new(clock, options.Settling.MaxRate);
    private readonly ProcessorState[] _states = new ProcessorState[lanes.Enabled.Count];
    private int _inFlight;

    // When a payment last waited although a dearer processor was usable; all older payments waited too.
    private DateTime _passedAt;
    private Processor? _passedOver;
    private volatile bool _draining;

    /// <summary>Latches the queue and drains it within the limit; the rest is released.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        _draining = true;
        lease.Current.Queue.Latch();
        var deadline = clock.GetTimestamp() + clock.TicksOf(options.Settling.DrainTimeout);
        while (((ExecuteTask is { IsCompleted: false } && !lease.Current.HasEnded) || Volatile.Read(ref _inFlight) > 0)
               && clock.GetTimestamp() < deadline && !cancellationToken.IsCancellationRequested)
            await Task.Delay(PollInterval / 5, clock, CancellationToken.None);
        if (Volatile.Read(ref _inFlight) is > 0 and var left)
            Log.DrainCutShort(log, left);
        await base.StopAsync(cancellationToken);
    }

    protected override Task ExecuteAsync(CancellationToken stoppingToken) => lease.RunEachAsync(
        // An epoch that begins during a stop releases what it has.
        (epoch, ends) => _draining ? Task.CompletedTask : SettleAllAsync(epoch, ends), stoppingToken);

    private async Task SettleAllAsync(Epoch epoch, CancellationToken ends)
    {
        while (!ends.IsCancellationRequested)
        {
            if (!epoch.Queue.TryTake(out var payment))
            {
                if (await epoch.Queue.TakeAsync() is not { } first)
                    return;

                payment = first;
                // Charges linger, because no client waits for them and charges that begin together share wake-ups.
                await Task.Delay(options.Settling.Linger, clock, ends);
            }

            await _rateLimiter.AcquireAsync(ends);
            try
            {
                if (await ChooseAsync(epoch, payment, ends) is { } lane)
                    detached.Add(SettleAsync(epoch, payment, lane));
            }
            catch (BrokenLifeException broken)
            {
                detached.Add(owned.BreakAsync(epoch, broken));
            }
        }
    }

    // Waits for a lane with a permit; null when the resolver has the payment.
    private async ValueTask<ProcessorLane?> ChooseAsync(Epoch epoch, Payment payment, CancellationToken ends)
    {
        while (true)
        {
            if (owned.AdmitsCharges(epoch))
            {
                if (payment.MayBeStored && !MayChargeAgain(epoch, payment))
                {
                    payment.Doubt();
                    epoch.Doubts.Add(payment);
                    return null;
                }

                if (Choose(epoch, payment) is { } lane)
                    return lane;
            }

            // No charge is in flight that could free a processor, so another instance may settle the payment.
            if (_draining && Volatile.Read(ref _inFlight) == 0)
                throw new OperationCanceledException("The queue is handed over.");

            await _progress.WaitAsync(PollInterval, ends);
        }
    }

    private bool TryAcquire(Epoch epoch, ProcessorLane lane) => HasCapacity(epoch, lane) && lane.TryAcquire();

    private bool HasCapacity(Epoch epoch, ProcessorLane lane) =>
        epoch.Doubts.CountAt(lane.Processor) < options.Settling.DoubtsMax;

    // Only the processor at which a terminated owner may have charged can end the doubt: by a charge, or by a
    // look-up. Without capacity the charge would keep all payments behind it waiting.
    private bool MayChargeAgain(Epoch epoch, Payment payment) =>
        !payment.IsHeld && payment.MayBeAt.IsSingle
        && lanes.In(payment.MayBeAt) is [{ IsEnabled: true } only] && HasCapacity(epoch, only)
        && only.Health.Read().Availability is Availability.Usable or Availability.Probe;

    private static ProcessorState StateOf(Epoch epoch, ProcessorLane lane, Payment payment)
    {
        var state = lane.Health.Read() with
        {
            IsMissing = payment.MissingAt.Contains(lane.Processor),
            HasRefused = payment.RefusedAt.Contains(lane.Processor),
        };
        // The look-ups of a doubt are probe enough while they fail: a payment would only join the doubt, and where
        // payments are rare each one is a probe.
        return state.Availability == Availability.Probe && lane.LookUpsFail
            && epoch.Doubts.CountAt(lane.Processor) > 0
            ? state.WithoutPermit()
            : state;
    }

    private ProcessorLane? Choose(Epoch epoch, Payment payment)
    {
        if (payment.MayBeStored)
            return lanes.In(payment.MayBeAt).Find(lane => TryAcquire(epoch, lane));

        var now = clock.GetUtcNow().UtcDateTime;
        // AcceptedAt lies in the future if the clock of the acceptance was ahead. The monotonic time bounds the wait,
        // otherwise the payment would keep later ones waiting too.
        var here = clock.GetElapsedTime(payment.TakenAt);
        var age = now - payment.AcceptedAt > here ? now - payment.AcceptedAt : here;
        var states = _states.AsSpan();
        for (var at = 0; at < states.Length; at++)
            states[at] = StateOf(epoch, lanes.Enabled[at], payment);
        // A processor without a permit is full, and the next choice is made without it.
        for (var tries = 0; tries <= states.Length; tries++)
        {
            var chosen = ProcessorRouter.Choose(states, age, options.Routing.FallbackAfter);
            if (chosen == ProcessorRouter.Wait)
                break;

            var lane = lanes.Enabled[chosen];
            if (!epoch.MayUse(lane.Processor))
                return null;

            if (TryAcquire(epoch, lane))
            {
                payment.PassOver(payment.AcceptedAt <= _passedAt ? _passedOver : null);
                return lane;
            }

            states[chosen] = states[chosen].WithoutPermit();
        }

        for (var at = states.Length - 1; at > 0; at--)
            if (states[at].Availability == Availability.Usable)
                (_passedAt, _passedOver) = (now, lanes.Enabled[at].Processor);
        return null;
    }

    private async Task SettleAsync(Epoch epoch, Payment payment, ProcessorLane lane)
    {
        epoch.Enter();
        Interlocked.Increment(ref _inFlight);
        try
        {
            var outcome = await lane.ChargeAsync(payment);
            switch (outcome.Next)
            {
                case NextStep.Record:
                    owned.Settle(epoch, payment, lane.Processor, payment.AmountCents, payment.RequestedAt);
                    break;
                case NextStep.WaitBehind:
                    Log.Refused(log, payment, lane.Processor, outcome.Reason);
                    epoch.Queue.ReturnRefused(payment);
                    break;
                case NextStep.Park:
                    // Another charge would be rejected too, and it must not delay other payments.
                    detached.Add(owned.ParkAsync(
                        epoch, payment, lane.Processor, $"{lane.Processor} answered {outcome.Reason}"));
                    break;
                case NextStep.Resolve:
                    Log.InDoubt(log, payment, lane.Processor, outcome.Reason);
                    if (outcome.Result == ChargeResult.AlreadyStored)
                        notes.Hold(payment);
                    epoch.Doubts.Add(payment);
                    break;
            }
        }
        catch (BrokenLifeException broken)
        {
            detached.Add(owned.BreakAsync(epoch, broken));
        }
        finally
        {
            epoch.Leave();
            Interlocked.Decrement(ref _inFlight);
            _progress.Set();
        }
    }

    private static partial class Log
    {
        [LoggerMessage(402, LogLevel.Warning,
            "The drain was cut short with {Count} charges in flight; they are released in doubt")]
        public static partial void DrainCutShort(ILogger log, int count);

        [LoggerMessage(405, LogLevel.Debug, "Payment {CorrelationId} was refused by {Processor} and waits: {Reason}")]
        public static partial void Refused(ILogger log, Payment correlationId, Processor processor, string? reason);

        [LoggerMessage(406, LogLevel.Debug, "Payment {CorrelationId} is in doubt at {Processor}: {Reason}")]
        public static partial void InDoubt(ILogger log, Payment correlationId, Processor processor, string? reason);
    }
}

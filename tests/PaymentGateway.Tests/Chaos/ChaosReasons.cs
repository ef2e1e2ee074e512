namespace PaymentGateway.Tests.Chaos;

/// <summary>Why a payment entered the ledger late.</summary>
public enum ChaosReason
{
    None, // Nothing that was done explains it.
    Processor, // The processor was slow, or its answer was lost.
    Parts, // The owner or its database was broken meanwhile, or the payment had another owner before.
}

/// <summary>A payment that a processor has had for longer than the audit's 1.5 s and the ledger has not.</summary>
/// <param name="Stall">The time by which the machine held up the audit, and perhaps the charge.</param>
/// <param name="Owner">Whose it is; null when that is not known any more.</param>
public sealed record ChaosLate(
    Guid Id, string Processor, DateTime RequestedAt, DateTime SeenAt, TimeSpan Stall, ChaosOwner? Owner);

/// <summary>
/// Looks for a reason among all that was done. A fault explains a late payment only when it hit the charge in flight or
/// the outcome that waited, and only until its damage is mended; later faults may hit what an earlier one has delayed.
/// </summary>
public static class ChaosReasons
{
    // Where nothing slows it; connections that a fault has broken are made anew as soon.
    private static readonly TimeSpan ChargeTakes = TimeSpan.FromSeconds(0.5);

    // Until broken connections are made anew, a lease is taken again, and what waited is written.
    private static readonly TimeSpan PartSettles = TimeSpan.FromSeconds(4);

    // A doubt: the look-up that has begun, the Retry-After of a full limiter, and the longest back-off.
    private static readonly TimeSpan MendingMax = ChaosSchedule.CallTimeout + TimeSpan.FromSeconds(5 + 6);

    public static ChaosReason Of(ChaosLate late, IReadOnlyList<ChaosDone> done)
    {
        // Without an owner a crash or a purge took its payment along.
        if (late.Owner is not { ChangedHands: false } owner)
            return ChaosReason.Parts;

        var (reason, explainedUntil) = (ChaosReason.None, late.RequestedAt + ChargeTakes + late.Stall);
        foreach (var one in done.OrderBy(one => one.From))
        {
            var isOfProcessor = IsOfProcessor(one, late.Processor);
            if ((!isOfProcessor && !IsOfOwner(one, owner))
                || !one.Touches(late.RequestedAt, explainedUntil, isOfProcessor ? Settles(one) : PartSettles))
                continue;

            if (reason == ChaosReason.None)
                reason = isOfProcessor ? ChaosReason.Processor : ChaosReason.Parts;
            if (one.MendedAt(MendingMax) is var mended && mended > explainedUntil)
                explainedUntil = mended;
        }

        return late.SeenAt <= explainedUntil ? reason : ChaosReason.None;
    }

    // Calls that a slow processor has taken may still fill its limiter.
    private static TimeSpan Settles(ChaosDone one) =>
        one.Kind == ChaosKind.Slow ? TimeSpan.FromMilliseconds(ChaosSchedule.SlowMs) : ChargeTakes;

    private static bool IsOfProcessor(ChaosDone one, string processor) =>
        one.Kind >= ChaosKind.Outage && ChaosStep.Hits(one.Target, processor)
        || (one.Kind == ChaosKind.PauseInOutage && processor == ChaosStep.Default);

    private static bool IsOfOwner(ChaosDone one, ChaosOwner owner) => one.Kind switch
    {
        ChaosKind.KillBoth or ChaosKind.KillWithDatabase or ChaosKind.DatabaseRestart or ChaosKind.DatabaseCrash
            or ChaosKind.FrozenDatabase or ChaosKind.StalledBackend or ChaosKind.TerminatedBackend => true,
        _ => one.Target is GatewaySystem.First or GatewaySystem.Second && owner.Is(one.Target),
    };
}

namespace PaymentGateway.Tests.Chaos;

/// <summary>Why a payment entered the ledger late.</summary>
public enum ChaosReason
{
    None, // Nothing that was done explains it.
    Processor, // Its processor was slow, or its answer was lost.
    Parts, // Its owner, or that one's database, was broken meanwhile, or it had another owner before.
}

/// <summary>Looks for a reason among all that was done.</summary>
public static class ChaosReasons
{
    // A doubt that began at the end of a fault: the call's time limit, and the longest back-off after it.
    private static readonly TimeSpan DoubtTakes = ChaosSchedule.CallTimeout + TimeSpan.FromSeconds(6);

    // Until broken connections are made anew, a lease is taken again, and what waited is written.
    private static readonly TimeSpan PartTakes = TimeSpan.FromSeconds(4);

    public static ChaosReason Of(ChaosLate late, IReadOnlyList<ChaosDone> done)
    {
        if (done.Any(one => IsOfProcessor(one, late.Processor)
            && one.Touches(late.RequestedAt, late.SeenAt, DoubtTakes)))
            return ChaosReason.Processor;

        // Without an owner a crash or a purge took its payment along.
        if (late.Owner is not { } owner || owner.ChangedHands)
            return ChaosReason.Parts;

        return done.Any(one => IsOfOwner(one, owner) && one.Touches(late.RequestedAt, late.SeenAt, PartTakes))
            ? ChaosReason.Parts
            : ChaosReason.None;
    }

    private static bool IsOfProcessor(ChaosDone one, string processor) =>
        one.Target == processor || one.Target == ChaosStep.Both && one.Kind >= ChaosKind.Outage;

    private static bool IsOfOwner(ChaosDone one, ChaosOwner owner) => one.Kind switch
    {
        ChaosKind.KillBoth or ChaosKind.KillWithDatabase or ChaosKind.DatabaseRestart or ChaosKind.DatabaseCrash
            or ChaosKind.FrozenDatabase or ChaosKind.StalledBackend or ChaosKind.TerminatedBackend => true,
        _ => one.Target is GatewaySystem.First or GatewaySystem.Second && owner.Is(one.Target),
    };
}

namespace PaymentGateway.Tests.Chaos;

/// <summary>Something that was done, from when to when; Target is never Loaded.</summary>
public sealed record ChaosDone(ChaosKind Kind, string Target, DateTime From, DateTime To)
{
    /// <summary>Until a survivor's own lease has been steady for its length, after a fault of its own.</summary>
    public static readonly TimeSpan SurvivorSettles = TimeSpan.FromSeconds(6);

    private bool BreaksDatabase => ChaosWires.IsOfDatabase(Kind) || Kind is
        ChaosKind.DatabaseRestart or ChaosKind.DatabaseCrash or ChaosKind.FrozenDatabase or ChaosKind.StalledBackend
        or ChaosKind.KillWithDatabase;

    private bool BreaksInstance => Kind is ChaosKind.Kill or ChaosKind.KillBoth
        or ChaosKind.Pause or ChaosKind.PauseInOutage or ChaosKind.Terminate;

    /// <summary>Whether it, or the mending of so long after it, was there at some time between these.</summary>
    public bool Touches(DateTime from, DateTime to, TimeSpan mending) =>
        From < to && (To == DateTime.MaxValue || To + mending > from);

    /// <summary>
    /// Whether it may have held up those who adopt what a part left that was killed then; no limit is held where
    /// anything did, so the schedule keeps kills that nothing does.
    /// </summary>
    public bool HoldsUpAdoption(string part, DateTime killed, DateTime adopted) =>
        Touches(killed, adopted, SurvivorSettles) && (BreaksDatabase || Target != part && BreaksInstance);
}

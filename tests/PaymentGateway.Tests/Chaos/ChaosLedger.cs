namespace PaymentGateway.Tests.Chaos;

/// <summary>The figures of a run, for people.</summary>
public sealed class ChaosLedger
{
    private readonly StringBuilder _text = new();

    /// <summary>The run itself; to be called before anything is purged.</summary>
    public async Task AddRunAsync(
        ChaosSettings settings, ChaosSchedule schedule, GatewaySystem system, ChaosRun run, ChaosLoad load,
        ChaosAudits audits, ChaosVerdict verdict)
    {
        var kills = run.JudgedKills().ToList();
        var inDoubt = await system.Database.CountAsync($"payments WHERE handover >= {PaymentStates.Sql.InDoubt}");
        var parked = await system.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}");
        var released = await system.Database.CountAsync($"payments WHERE handover = {PaymentStates.Sql.Unsent}");
        var audit = await LedgerAudit.TakeAsync(system);
        var entries = load.Ledger.Entries.ToList();
        var name = $"{settings.Seed}, {(settings.Durable ? "durable" : "unlogged")}, {settings.Length.TotalSeconds} s";
        var pauses = Count(ChaosKind.Pause) + Count(ChaosKind.PauseInOutage);
        var outages = Count(ChaosKind.Outage) + Count(ChaosKind.PauseInOutage);
        var faults = schedule.Processors.Count(step => step.Kind is not (ChaosKind.Outage or ChaosKind.Slow));
        var adopted = Longest(kills.Where(one => one.DatabaseWasSteady));
        var dead = run.DeadCalls.Select(one => one.PerSecond).DefaultIfEmpty().Max();
        Line("seed", name + (settings.Without.Count == 0 ? "" : $", without {string.Join(", ", settings.Without)}"));
        Line("payments", $"{entries.Count}, {load.Twins} of them posted twice at once, "
            + $"{entries.Count(entry => entry.Attempts > 1)} repeated by their client, "
            + $"{load.CameAgain} when everything was over");
        Line("acknowledged", $"{load.Ledger.Acknowledged}; refused {load.Ledger.CountOf(LoadOutcome.Refused)}, "
            + $"given up {entries.Count - load.Ledger.Acknowledged - load.Ledger.CountOf(LoadOutcome.Refused)}");
        Line("settled", $"{audit.Default.TotalRequests} at default, {audit.Fallback.TotalRequests} at fallback, "
            + $"{parked} parked");
        Line("audits", $"{audits.Judged} answers about closed windows were judged, in {audits.Rounds} rounds and "
            + $"after the drain; up to {audits.Largest} payments in a window");
        foreach (var (kill, _) in kills)
            Line("killed", $"{kill.Part} had taken {kill.Taken} payments in the second before and left {kill.Left}, "
                + $"adopted after {kill.Took?.TotalSeconds ?? 0:0.0} s, {kill.Renewals} renewals");
        // docs/measurements/chaos.md names the columns.
        Line("row", string.Create(CultureInfo.InvariantCulture, $"| {name} | {entries.Count:N0} "
            + $"| {audit.Default.TotalRequests:N0} / {audit.Fallback.TotalRequests:N0} "
            + $"| {kills.Count}, {pauses}, {Count(ChaosKind.Terminate)} "
            + $"| {Count(ChaosKind.DatabaseRestart)}, {Count(ChaosKind.DatabaseCrash)}, "
            + $"{Count(ChaosKind.FrozenDatabase)}, {Count(ChaosKind.StalledBackend)} "
            + $"| {outages}, {Count(ChaosKind.Slow)}, {faults} "
            + $"| {inDoubt:N0} / {released:N0} | {adopted} | {audits.Judged} | {dead:0.0} "
            + $"| {verdict.Drained.TotalSeconds:0.0} s | {verdict.Lost} / {verdict.ChargedTwice} |"));
        Line("as planned", $"\n{schedule}");
        Line("as done", $"\n{run.Journal}");

        int Count(ChaosKind kind) => schedule.All.Count(step => step.Kind == kind);
    }

    /// <summary>What the floors are about, and what the live audits found.</summary>
    public void AddCaused(ChaosCaused caused, ChaosRun run, ChaosLiveAudits live)
    {
        Line("at first", $"{caused.AtFirst} of {caused.Sent} had their 202 at the first attempt");
        Line("doubted", $"{caused.Doubted} charges by a counted fault, {caused.LookUps} look-ups and 422 altogether");
        Line("wires", string.Join(", ", run.Wires.Faults.Select(
            one => $"{one.Kind} {one.Target} {one.Hits}")));
        Line("live audits", $"{live.Taken} taken, {live.Alike} without a difference; payments that were late: "
            + $"{live.ByProcessor} by their processor, {live.ByParts} by their owner or its database, "
            + $"{live.Problems.Count()} for no reason");
    }

    public void AddPurges(ChaosPurges purges) => Line("purges", $"{purges}");

    /// <summary>The last line, and everything that was wrong.</summary>
    public void Close(IReadOnlyCollection<string> problems)
    {
        Line("verdict", problems.Count == 0 ? "the ledgers agree" : "THE LEDGERS DO NOT AGREE");
        foreach (var problem in problems)
            _text.AppendLine(problem);
    }

    public override string ToString() => _text.ToString();

    private void Line(string name, string figures) =>
        _text.AppendLine(CultureInfo.InvariantCulture, $"{name,-15}{figures}");

    private static string Longest(IEnumerable<(ChaosKill Kill, bool DatabaseWasSteady)> kills)
    {
        var longest = kills.Select(one => one.Kill.Took ?? TimeSpan.Zero).DefaultIfEmpty().Max();
        return longest == TimeSpan.Zero
            ? "none"
            : string.Create(CultureInfo.InvariantCulture, $"{longest.TotalSeconds:0.0} s");
    }
}

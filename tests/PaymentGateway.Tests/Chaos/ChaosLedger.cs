namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosLedger
{
    private readonly StringBuilder _text = new();

    /// <summary>The run itself; to be called before anything is purged.</summary>
    public async Task AddRunAsync(
        ChaosSettings settings, ChaosSchedule schedule, GatewaySystem system, ChaosRun run, ChaosLoad load,
        ChaosCaused caused, ChaosVerdict verdict)
    {
        var parked = await system.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}");
        var released = await system.Database.CountAsync("payments WHERE may_be_at = 0");
        var refused = load.Ledger.CountOf(LoadOutcome.Refused);
        var name = $"{settings.Seed}, {(settings.Durable ? "durable" : "unlogged")}, {settings.Length.TotalSeconds} s";
        var kills = run.JudgedKills().ToList();
        var adopted = kills.Where(one => one.DatabaseWasSteady)
            .Select(one => one.Kill.Took?.TotalSeconds ?? 0).DefaultIfEmpty().Max();
        var dead = run.DeadCalls.Select(one => one.PerSecond).DefaultIfEmpty().Max();
        Line("seed", name + (settings.Without.Count == 0 ? "" : $", without {string.Join(", ", settings.Without)}"));
        Line("payments", $"{caused.Sent}, {load.Twins} of them posted twice at once, "
            + $"{load.Ledger.Entries.Count(entry => entry.Attempts > 1)} repeated by their client, "
            + $"{load.CameAgain} when everything was over; {caused.AtFirst} had their 202 at the first attempt");
        Line("acknowledged", $"{caused.Acknowledged}; refused {refused}, "
            + $"given up {caused.Sent - caused.Acknowledged - refused}; parked {parked}");
        foreach (var (kill, _) in kills)
            Line("killed", $"{kill.Part} had taken {kill.Taken} payments in the second before and left {kill.Left}, "
                + $"adopted after {kill.Took?.TotalSeconds ?? 0:0.0} s, {kill.Renewals} renewals");
        Line("settled", $"{string.Join(" / ", caused.Shares.Select(share => share.Settled))} at "
            + $"{string.Join(" / ", caused.Shares.Select(share => share.Processor))}; the drain took "
            + $"{verdict.Drained.TotalSeconds:0.0} s");
        Line("processors", $"{dead:0.0} calls/s while one failed");
        Line("adopted", $"{caused.AdoptedInDoubt} in doubt, {released} released, after {adopted:0.0} s at most");
        Line("doubted", $"{caused.Doubted} charges by a counted fault, {caused.LookUps} look-ups and 422 altogether");
        Line("wires", string.Join(", ", run.Wires.Faults.Select(one => $"{one.Kind} {one.Target} {one.Hits}")));
        Line("as planned", $"\n{schedule}");
        Line("as done", $"\n{run.Journal}");
    }

    public void AddAudits(ChaosAudits audits, ChaosLiveAudits live, ChaosHistories histories)
    {
        Line("histories", $"{histories.Answers} answers about acknowledged payments");
        Line("audits", $"{audits.Judged} answers about closed windows were judged, in {audits.Rounds} rounds and "
            + $"after the drain; up to {audits.Largest} payments in a window");
        Line("live audits", $"{live.Taken} taken, {live.Alike} without a difference; payments that were late: "
            + $"{live.Late[ChaosReason.Processor].Count()} by their processor, "
            + $"{live.Late[ChaosReason.Parts].Count()} by their owner or its database, "
            + $"{live.Late[ChaosReason.None].Count()} for no reason");
    }

    public void AddPurges(ChaosPurges purges) => Line("purges", $"{purges}");

    internal void AddWebhooks(ChaosWebhooks webhooks) => Line("webhooks", $"{webhooks}");

    public void Close(IReadOnlyCollection<string> problems)
    {
        Line("verdict", problems.Count == 0 ? "the ledgers agree" : "THE LEDGERS DO NOT AGREE");
        foreach (var problem in problems)
            _text.AppendLine(problem);
    }

    public override string ToString() => _text.ToString();

    private void Line(string name, string figures) =>
        _text.AppendLine(CultureInfo.InvariantCulture, $"{name,-15}{figures}");
}

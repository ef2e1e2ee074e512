namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosLedger
{
    private readonly StringBuilder _text = new();

    /// <summary>The run itself; to be called before anything is purged.</summary>
    public async Task AddRunAsync(
        ChaosSettings settings, ChaosSchedule schedule, GatewaySystem system, ChaosRun run, ChaosLoad load,
        ChaosCaused caused, ChaosVerdict verdict)
    {
        var parked = await system.Database.CountAsync($"payments WHERE owner_epoch = {Owners.Sql.Parked}");
        var released = await system.Database.CountAsync("payments WHERE may_be_at = 0");
        var refused = load.Ledger.CountOf(LoadOutcome.Refused);
        var name = $"{settings.Seed}, {(settings.Durable ? "durable" : "unlogged")}, {settings.Length.TotalSeconds} s";
        var dead = run.DeadCalls.Select(one => one.PerSecond).DefaultIfEmpty().Max();
        Line("seed", name + (settings.Without.Count == 0 ? "" : $", without {string.Join(", ", settings.Without)}"));
        Line("payments", $"{caused.Sent}, {load.Twins} of them posted twice at once, "
            + $"{load.Ledger.Entries.Count(entry => entry.Attempts > 1)} repeated by their client, "
            + $"{load.CameAgain} when everything was over; {caused.AtFirst} had their 202 at the first attempt");
        Line("acknowledged", $"{caused.Acknowledged}; refused {refused}, "
            + $"given up {caused.Sent - caused.Acknowledged - refused}; parked {parked}");
        foreach (var kill in run.Kills.All)
            Line("killed", $"{kill.Part} had taken {kill.Taken} payments in the second before and left {kill.Left}");
        Line("settled", $"{string.Join(" / ", caused.Shares.Select(share => share.Settled))} at "
            + $"{string.Join(" / ", caused.Shares.Select(share => share.Processor))}; the drain took "
            + $"{verdict.Drained.TotalSeconds:0.0} s");
        Line("processors", $"{dead:0.0} calls/s while one failed");
        Line("adopted", $"{caused.AdoptedInDoubt} in doubt, {released} released");
        Line("doubted", $"{caused.Doubted} charges by a counted fault, {caused.LookUps} look-ups and 422 altogether");
        Line("wires", string.Join(", ", run.Wires.Faults.Select(one => $"{one.Kind} {one.Target} {one.Hits}")));
        Line("as planned", $"\n{schedule}");
        Line("as done", $"\n{run.Journal}");
    }

    public void AddAudits(ChaosAudits audits, ChaosHistories histories)
    {
        Line("histories", $"{histories.Answers} answers about acknowledged payments");
        Line("audits", $"{audits.Judged} answers about closed windows were judged, in {audits.Rounds} rounds and "
            + $"after the drain; up to {audits.Largest} payments in a window");
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

namespace PaymentGateway.Tests.Support;

/// <summary>An audit whose three answers differed, and what became of the difference.</summary>
/// <param name="Behind">From the processors' answer to the first one of the gateway that has all of it.</param>
/// <param name="Invented">The gateway had more than the processors, asked after its answer.</param>
public sealed record AuditDifference(
    LedgerAudit Audit, DateTimeOffset To, TimeSpan Behind, int Asked, bool Persists, bool Invented);

/// <summary>
/// Fifty official audits a second, one right after the other whatever the stages do. Three questions are never
/// answered at the same instant, so a difference is followed up: the ledger is behind when the gateway, asked after the
/// processors have answered, still has less than they said; it has invented something when the processors, asked after
/// the gateway has answered, still have less than it said.
/// </summary>
public sealed class AuditStorm(GatewaySystem system)
{
    private const int PerSecond = 50;

    // A difference persists when it outlasts both: the time, and so many answers, which a busy machine stretches too.
    private const int AsksMax = 20;
    private static readonly TimeSpan BehindMax = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan FollowedMax = TimeSpan.FromSeconds(5);

    private readonly ConcurrentBag<AuditDifference> _differences = [];

    public int Count { get; private set; }

    public IReadOnlyCollection<AuditDifference> Differences => _differences;

    public string Report => $"storm: {Count} audits, {_differences.Count} differed, "
        + $"{_differences.Count(one => one.Persists)} persist; the ledger was behind by "
        + $"{_differences.Select(one => one.Behind.TotalMilliseconds).DefaultIfEmpty().Max():0.0} ms at worst";

    public async Task RunAsync(TimeSpan duration)
    {
        var clock = Stopwatch.StartNew();
        var running = new List<Task>();
        while (clock.Elapsed < duration)
        {
            running.Add(AuditAsync());
            Count++;
            var due = TimeSpan.FromSeconds((double)Count / PerSecond);
            if (due > clock.Elapsed)
                await Task.Delay(due - clock.Elapsed);
        }

        await Task.WhenAll(running);
    }

    private async Task AuditAsync()
    {
        var (from, to) = LedgerAudit.OfficialWindow();
        var audit = await LedgerAudit.TakeAsync(system, from, to);
        if (!audit.Agrees)
            _differences.Add(await FollowAsync(audit, from, to));
    }

    private async Task<AuditDifference> FollowAsync(LedgerAudit first, DateTimeOffset from, DateTimeOffset to)
    {
        var since = Stopwatch.StartNew();
        var asked = 0;
        var gateway = first.Gateway;
        while (!gateway.Covers(first.Processors) && since.Elapsed < FollowedMax)
        {
            gateway = await GatewaySummary.AskAsync(system.Client, from, to);
            asked++;
        }

        var behind = asked == 0 ? TimeSpan.Zero : since.Elapsed;
        var later = await LedgerAudit.TakeAsync(system, from, to);
        return new AuditDifference(
            first, to, behind, asked, behind > BehindMax && asked > AsksMax, !later.Processors.Covers(first.Gateway));
    }
}

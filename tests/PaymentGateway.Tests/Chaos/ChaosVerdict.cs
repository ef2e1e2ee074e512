namespace PaymentGateway.Tests.Chaos;

/// <summary>What is wrong after a run, if anything.</summary>
public sealed record ChaosVerdict(TimeSpan Drained, IReadOnlyList<string> Problems)
{
    /// <summary>
    /// A lease expires after three renewals; a survivor that was broken itself waits three more until it is steady; the
    /// renewal that closes the lease adopts, and a poll may miss the renewal before it.
    /// </summary>
    public const int AdoptionRenewalsMax = 8;

    // Two instances try a dead processor twice a second each; what is in doubt there is sent again now and then.
    private const double DeadCallsPerSecondMax = 20;

    /// <summary>Waits until everything is settled; then compares every single payment.</summary>
    public static async Task<ChaosVerdict> FindAsync(GatewaySystem system, LoadLedger ledger)
    {
        var drain = await new ChaosDrain(system).WaitAsync(() => LedgerCheck.IsDrainedAsync(system, ledger));
        var problems = await LedgerCheck.CompareAsync(system, ledger);
        if (drain.Why is { } why)
        {
            problems.Add($"{await system.Database.CountUnsettledAsync()} payments are unsettled: {why}");
            problems.AddRange(await new ChaosDatabase(system).DescribeUnsettledAsync());
        }

        return new ChaosVerdict(drain.Took, problems);
    }

    /// <summary>Adds what took too long or was asked too often.</summary>
    /// <param name="kills">Those of a run; only where the database was steady, a limit can be held.</param>
    public ChaosVerdict Judge(
        IEnumerable<(ChaosKill Kill, bool DatabaseWasSteady)> kills, IEnumerable<ChaosDeadCalls> deadCalls)
    {
        var late = kills.Where(one => IsJudged(one.Kill, one.DatabaseWasSteady) && IsLate(one.Kill)).Select(one =>
            $"{one.Kill.Part}, killed {one.Kill.At:O}: of {one.Kill.Left} payments none was adopted within "
            + $"{one.Kill.Renewals} renewals of a survivor");
        var often = deadCalls.Where(one => one.PerSecond > DeadCallsPerSecondMax).Select(one =>
            $"{one.PerSecond:0.0} charges per second at {one.Processor} while it failed: "
            + string.Join(' ', one.BySecond));
        return this with { Problems = [.. Problems, .. late, .. often] };
    }

    /// <summary>Whether the limit on adoption says anything of a kill.</summary>
    public static bool IsJudged(ChaosKill kill, bool databaseWasSteady) => databaseWasSteady && kill.Left > 0;

    private static bool IsLate(ChaosKill kill) => kill.AdoptedAt is null || kill.Renewals > AdoptionRenewalsMax;
}

/// <summary>
/// Waits until everything is settled, for as long as that goes on. A stall is told by the gateway's own
/// pace: so many renewals of a lease without one more settlement, on however slow a machine.
/// </summary>
public sealed class ChaosDrain(GatewaySystem system)
{
    // The slowest doubt: the horizon, the longest back-off with a Retry-After, a processor's limiter; twice.
    private const int IdleRenewalsMax = 40;

    private const int RenewalsMax = 150;

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    private readonly ChaosDatabase _database = new(system);

    /// <summary>Null when all is settled, else why it was not waited for any longer.</summary>
    public string? Why { get; private set; }

    public TimeSpan Took { get; private set; }

    /// <param name="isDoneAsync">Whether nothing is left to wait for.</param>
    public async Task<ChaosDrain> WaitAsync(Func<Task<bool>> isDoneAsync)
    {
        var waited = Stopwatch.StartNew();
        var (renewals, idleSince, settled, last) = (0, 0, -1L, DateTime.MinValue);
        while (!await isDoneAsync() && Why is null)
        {
            await Task.Delay(PollInterval);
            var now = await system.Database.CountAsync("settlements");
            var renewed = (await _database.RenewalsAsync()).Values.DefaultIfEmpty().Max();
            if (renewed - last >= ChaosAdoptions.OneRenewal)
                (last, renewals) = (renewed, renewals + 1);
            if (now > settled)
                (settled, idleSince) = (now, renewals);
            if (renewals - idleSince > IdleRenewalsMax)
                Why = $"nothing was settled in {IdleRenewalsMax} renewals of a lease";
            else if (renewals > RenewalsMax || waited.Elapsed > TimeSpan.FromSeconds(2 * RenewalsMax))
                Why = $"it is not at its end after {renewals} renewals of a lease, {waited.Elapsed.TotalSeconds:0} s";
        }

        Took = waited.Elapsed;
        return this;
    }
}

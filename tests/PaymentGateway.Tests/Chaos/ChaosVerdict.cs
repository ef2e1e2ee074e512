namespace PaymentGateway.Tests.Chaos;

public sealed record ChaosVerdict(TimeSpan Drained, IReadOnlyList<string> Problems)
{
    /// <summary>
    /// A lease expires after three renewals; a survivor that was broken itself waits three more until it is steady; the
    /// renewal that closes the lease adopts, and a poll may miss the renewal before it.
    /// </summary>
    public const int AdoptionRenewalsMax = 8;

    // Two instances try a dead processor twice a second each; what is in doubt there is sent again now and then.
    private const double DeadCallsPerSecondMax = 20;

    public static async Task<ChaosVerdict> FindAsync(GatewaySystem system, LoadLedger ledger)
    {
        var (took, why) = await ChaosDrain.WaitAsync(system, () => LedgerCheck.IsDrainedAsync(system, ledger));
        var problems = await LedgerCheck.CompareAsync(system, ledger);
        if (why is not null)
        {
            problems.Add($"{await system.Database.CountUnsettledAsync()} payments are unsettled: {why}");
            problems.AddRange(await new ChaosDatabase(system).DescribeUnsettledAsync());
        }

        return new ChaosVerdict(took, problems);
    }

    /// <summary>Adds what took too long or was asked too often.</summary>
    /// <param name="kills">The limit is held only where the database was steady.</param>
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

/// <summary>Waits until all is settled; so many renewals of a lease without a settlement are a stall.</summary>
public static class ChaosDrain
{
    // The slowest doubt: the horizon, the longest back-off with a Retry-After, a processor's limiter; twice.
    private const int IdleRenewalsMax = 40;

    private const int RenewalsMax = 150;

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    /// <returns>How long it took, and why it was given up; null when all is settled.</returns>
    public static async Task<(TimeSpan Took, string? Why)> WaitAsync(
        GatewaySystem system, Func<Task<bool>> isDoneAsync)
    {
        var (database, waited) = (new ChaosDatabase(system), Stopwatch.StartNew());
        var (renewals, idleSince, settled, last) = (0, 0, -1L, DateTime.MinValue);
        while (!await isDoneAsync())
        {
            await Task.Delay(PollInterval);
            var now = await system.Database.CountAsync("settlements");
            var renewed = (await database.RenewalsAsync()).Values.DefaultIfEmpty().Max();
            if (renewed - last >= ChaosAdoptions.OneRenewal)
                (last, renewals) = (renewed, renewals + 1);
            if (now > settled)
                (settled, idleSince) = (now, renewals);
            if (renewals - idleSince > IdleRenewalsMax)
                return (waited.Elapsed, $"nothing was settled in {IdleRenewalsMax} renewals of a lease");
            if (renewals > RenewalsMax || waited.Elapsed > TimeSpan.FromSeconds(2 * RenewalsMax))
                return (waited.Elapsed, $"it is not at its end after {renewals} renewals of a lease");
        }

        return (waited.Elapsed, null);
    }
}

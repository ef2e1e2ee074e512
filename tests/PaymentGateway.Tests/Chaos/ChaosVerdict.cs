namespace PaymentGateway.Tests.Chaos;

public sealed record ChaosVerdict(TimeSpan Drained, IReadOnlyList<string> Problems)
{
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

    /// <summary>Adds what was asked too often.</summary>
    public ChaosVerdict Judge(IEnumerable<ChaosDeadCalls> deadCalls) => this with
    {
        Problems =
        [
            .. Problems,
            .. deadCalls.Where(one => one.PerSecond > DeadCallsPerSecondMax).Select(one =>
                $"{one.PerSecond:0.0} charges per second at {one.Processor} while it failed: "
                + string.Join(' ', one.BySecond)),
        ],
    };
}

/// <summary>Waits until all is settled; so many renewals of a lease without a settlement are a stall.</summary>
public static class ChaosDrain
{
    // The slowest doubt: the horizon, the longest back-off with a Retry-After, a processor's limiter; twice.
    private const int IdleRenewalsMax = 40;

    private const int RenewalsMax = 150;

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    // The gateway renews each second; what comes sooner is a renewal for another reason.
    private static readonly TimeSpan OneRenewal = TimeSpan.FromSeconds(0.8);

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
            if (renewed - last >= OneRenewal)
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

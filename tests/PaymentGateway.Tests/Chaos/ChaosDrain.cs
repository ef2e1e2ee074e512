using System.Diagnostics;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

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

namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// Payments at a fixed open rate through nginx, some of them posted twice at the same instant at both instances.
/// A client without an answer, or with 503, repeats the id: most of them soon, a few when everything is over.
/// </summary>
/// <param name="asksOnce">No client repeats a payment, and none is posted twice.</param>
public sealed class ChaosLoad(GatewaySystem system, bool asksOnce = false)
{
    public const int PerSecond = 120;
    private const int InFlightMax = 4_000;

    // One of so many is posted twice, and another one comes again only after everything.
    private const int Dozen = 12;
    private const int LateOne = 7;

    // A client that gives up in the end would make its payment prove less: any fault of the schedule is over by then.
    private static readonly LoadRetry Retry = new(Times: 60, TimeSpan.FromMilliseconds(300));

    public LoadLedger Ledger { get; } = new();

    public int Twins { get; private set; }

    public int CameAgain { get; private set; }

    /// <summary>Runs until <paramref name="end"/> completes, and until the last client has its answer.</summary>
    public async Task RunWhileAsync(Task end)
    {
        var clock = Stopwatch.StartNew();
        var running = new List<Task>();
        for (var sent = 0; !end.IsCompleted; sent++)
        {
            var early = TimeSpan.FromSeconds((double)sent / PerSecond) - clock.Elapsed;
            if (early > TimeSpan.Zero)
                await Task.Delay(early);
            running.RemoveAll(post => post.IsCompletedSuccessfully);
            Assert.True(running.Count < InFlightMax, $"{running.Count} payments wait for an answer");
            running.Add(!asksOnce && sent % Dozen == 0
                ? PostTwinsAsync(0.01m + sent % 9_973 / 100m)
                : LoadDriver.PostAsync(
                    system.Client, Ledger, retry: asksOnce || sent % Dozen == LateOne ? null : Retry));
        }

        await Task.WhenAll(running);
    }

    /// <summary>Clients without an answer repeat their payment, which must be settled then.</summary>
    public async Task ComeAgainAsync()
    {
        var late = Ledger.Entries
            .Where(entry => entry.Outcome is not (LoadOutcome.Acknowledged or LoadOutcome.Refused)).ToList();
        CameAgain = late.Count;
        foreach (var some in late.Chunk(PerSecond))
        {
            var answers = await Task.WhenAll(some.Select(
                entry => LoadDriver.PostAsync(system.Client, Ledger, entry.Id, entry.Amount, Retry)));
            // A gateway that takes none of so many will take none of the rest; the floors say so.
            if (!answers.Any(answer => answer.Outcome == LoadOutcome.Acknowledged))
                return;
        }
    }

    // Each of the two has its own notes: what one was told stands, whatever the other hears, and a 4xx is an error.
    private async Task PostTwinsAsync(decimal amount)
    {
        Twins++;
        var id = Guid.NewGuid();
        var both = await Task.WhenAll(new[] { system.Api1, system.Api2 }.Select(
            instance => Task.Run(() => LoadDriver.PostAsync(instance, new LoadLedger(), id, amount, Retry))));
        Ledger.Note(both.MinBy(Weight)!);
    }

    private static int Weight(LoadEntry entry) => entry.Outcome switch
    {
        LoadOutcome.Refused => 0,
        LoadOutcome.Acknowledged => 1,
        _ => 2,
    };
}

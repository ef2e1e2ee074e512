namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Both processors fail while 200 payments a second come in; BOTH_DOWN_SECONDS=30 is the long form.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class BothDownTests
{
    private const int PerSecond = 200;

    // Two instances, a probe each half second: 4/s are meant. More in the second in which a processor is first found
    // dead, because a breaker has to see calls fail before it opens: that one counts in the mean only.
    private const int CallsPerSecondMax = 20;

    // Charges that one instance may have in flight at both processors: so many may be overtaken, by so many.
    private const int OvertakenMax = 2 * 256;

    private static readonly TimeSpan Outage = TimeSpan.FromSeconds(int.Parse(
        Environment.GetEnvironmentVariable("BOTH_DOWN_SECONDS") ?? "8", CultureInfo.InvariantCulture));

    private static readonly TimeSpan Before = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan After = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly LoadLedger _ledger = new();

    [GatewaySystemFact]
    public async Task While_both_processors_are_down_payments_are_accepted_and_then_settled_oldest_first()
    {
        // A short fallback delay, so that fallback is tried as well.
        await using var system = await GatewaySystem.UpAsync(("Gateway__Routing__FallbackAfter", "3s"));
        var load = LoadDriver.RunAtRateAsync(system.Client, _ledger, PerSecond, Before + Outage + After);
        await Task.Delay(Before);

        var begun = DateTimeOffset.UtcNow;
        await SetFailureAsync(system, true);
        var begunAll = DateTimeOffset.UtcNow;
        var calls = await WatchCallsAsync(system);
        var sent = _ledger.Entries.Where(entry => entry.SentAt > begunAll).ToList();
        var taken = sent.Count(entry => entry.Outcome == LoadOutcome.Acknowledged);
        var backlog = await system.Database.CountUnsettledAsync();
        var back = DateTimeOffset.UtcNow;
        await SetFailureAsync(system, false);
        await BacklogSettledAsync(system, back);
        await load;
        await LedgerCheck.AgreesAsync(system, _ledger);

        var overtaken = Overtaken(await system.Database.SettledInOrderAsync(), begun, back);
        _ledger.NoClientSawAnError();
        // All that was acknowledged in the outage, and that is most of what was sent in it, however fast the machine.
        Assert.True(
            taken > sent.Count / 2 && backlog >= taken, $"{taken} of {sent.Count} taken, a backlog of {backlog}");
        StaysCalm(calls.Select(call => call.Default).ToList());
        StaysCalm(calls.Select(call => call.Fallback).ToList());
        Assert.True(overtaken <= OvertakenMax, $"{overtaken}");
    }

    private static void StaysCalm(List<double> calls)
    {
        Assert.True(calls.Sum() > 0, "the processor was not tried at all");
        // The calls before the breakers open may lie on both sides of a poll.
        Assert.All(calls.OrderDescending().Skip(2), count => Assert.InRange(count, 0, CallsPerSecondMax));
        Assert.InRange(calls.Average(), 0, CallsPerSecondMax);
    }

    private static Task SetFailureAsync(GatewaySystem system, bool failure) =>
        Task.WhenAll(system.Default.SetFailureAsync(failure), system.Fallback.SetFailureAsync(failure));

    // The interval of the polls, and a poll for each second of the outage.
    private static async Task<List<(double Default, double Fallback)>> WatchCallsAsync(GatewaySystem system)
    {
        var clock = Stopwatch.StartNew();
        var calls = new List<(double Default, double Fallback)>();
        var (last, lastAt) = (await PostsAsync(), clock.Elapsed);
        for (var due = Second; due <= Outage; due += Second)
        {
            await Task.Delay(due > clock.Elapsed ? due - clock.Elapsed : TimeSpan.Zero);
            var now = await PostsAsync();
            // A poll that comes late has seen more than a second.
            var seconds = Math.Max(1, (clock.Elapsed - lastAt) / Second);
            calls.Add(((now.Default - last.Default) / seconds, (now.Fallback - last.Fallback) / seconds));
            (last, lastAt) = (now, clock.Elapsed);
        }

        return calls;

        async Task<(long Default, long Fallback)> PostsAsync() =>
            ((await system.Default.CallsAsync()).Posts, (await system.Fallback.CallsAsync()).Posts);
    }

    // The load goes on, so what is looked at is what was accepted before the return.
    private static async Task BacklogSettledAsync(GatewaySystem system, DateTimeOffset back)
    {
        var left = $"payments LEFT JOIN settlements USING (accepted_at, correlation_id) WHERE requested_at IS NULL "
            + $"AND accepted_at < '{back.UtcDateTime.ToString("O", CultureInfo.InvariantCulture)}'";
        await Eventually.HoldsAsync(async () => await system.Database.CountAsync(left) == 0, "the backlog is settled");
    }

    // By how many younger ones of its owner the most overtaken payment of the backlog was overtaken.
    private static int Overtaken(List<SettledAt> settled, DateTimeOffset begun, DateTimeOffset back)
    {
        var most = 0;
        foreach (var owner in settled.Where(row => row.AcceptedAt > begun.UtcDateTime
            && row.RequestedAt > back.UtcDateTime).GroupBy(row => row.Owner))
        {
            var sent = new List<DateTime>();
            foreach (var row in owner)
            {
                var at = sent.BinarySearch(row.AcceptedAt);
                most = Math.Max(most, sent.Count - (at < 0 ? ~at : at));
                sent.Insert(at < 0 ? ~at : at, row.AcceptedAt);
            }
        }

        return most;
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The contract's one health call per processor in 5 s is for all instances together.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class HealthCallTests(RunningSystem running, ITestOutputHelper output)
{
    private static readonly TimeSpan Window = TimeSpan.FromSeconds(5);

    // What is 5 s apart is the claims in the database; a call follows its claim by a moment that may vary.
    private static readonly TimeSpan ClaimToCall = TimeSpan.FromMilliseconds(200);

    // The instances claim 5.2 s after the last claim, and each polls for that once a second: one such poll may be lost.
    private static readonly TimeSpan ApartMax = TimeSpan.FromSeconds(7.2);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(20);

    [GatewaySystemFact]
    public async Task Both_instances_together_make_at_most_one_health_call_in_5_s()
    {
        var system = running.System;
        await system.ResetAsync();
        var seen = new Dictionary<SimulatedProcessor, Seen> { [system.Default] = new(), [system.Fallback] = new() };

        var clock = Stopwatch.StartNew();
        for (var poll = 0; seen.Values.Any(one => one.Calls.Count < 3); poll++)
        {
            foreach (var (processor, one) in seen)
            {
                var asked = clock.Elapsed;
                for (var calls = (await processor.CallsAsync()).HealthCalls; one.Calls.Count < calls;)
                    one.Calls.Add(new Call(one.PolledAt, clock.Elapsed, poll));
                one.PolledAt = asked;
            }

            Assert.True(clock.Elapsed < TimeSpan.FromMinutes(1), "health is hardly asked for");
            await Task.Delay(PollInterval);
        }

        foreach (var (_, one) in seen)
        {
            var seenAt = one.Calls.Select(at => $"{at.To.TotalSeconds:0.00} s");
            output.WriteLine($"health calls at {string.Join(", ", seenAt)}");
            // As far apart as what was seen allows: a poll that comes late makes the bound wider, not wrong.
            foreach (var (earlier, later) in one.Calls.Zip(one.Calls.Skip(1)))
            {
                Assert.True(later.To - earlier.From > Window - ClaimToCall, $"{earlier}, then {later}");
                // Counted in pauses between polls, which a busy machine stretches as well.
                Assert.True((later.Poll - earlier.Poll - 1) * PollInterval < ApartMax, $"{earlier}, then {later}");
            }
        }
    }

    // A call was made after the poll that had not seen it was begun, and before the one that had was answered.
    private sealed record Call(TimeSpan From, TimeSpan To, int Poll);

    private sealed class Seen
    {
        public List<Call> Calls { get; } = [];

        public TimeSpan PolledAt { get; set; }
    }
}

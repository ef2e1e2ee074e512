namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class IdempotencyTests(RunningSystem running) : OnRunningSystem(running)
{
    private const int Rounds = 200;

    [GatewaySystemFact]
    public async Task The_same_payment_at_both_instances_at_once_is_acknowledged_twice_and_settled_once()
    {
        var answers = await RaceAsync(19.90m, 19.90m);

        Assert.All(answers, pair => Assert.All(
            new[] { pair.First, pair.Second }, answer => Assert.Equal(LoadOutcome.Acknowledged, answer.Outcome)));
        await LedgerCheck.AgreesAsync(System, Ledger);
        Assert.Equal(Rounds, await System.Database.CountAsync("settlements"));
    }

    [GatewaySystemFact]
    public async Task Two_amounts_at_once_are_one_payment_and_one_conflict()
    {
        var answers = await RaceAsync(19.90m, 19.91m);

        foreach (var (first, second) in answers)
        {
            var (taken, refused) = first.Outcome == LoadOutcome.Acknowledged ? (first, second) : (second, first);
            Assert.Equal(LoadOutcome.Acknowledged, taken.Outcome);
            Assert.StartsWith("409 ", refused.Answer, StringComparison.Ordinal);
            Ledger.Note(taken);
        }

        await LedgerCheck.AgreesAsync(System, Ledger);
    }

    // Both requests of a round leave when both are ready, from threads of their own.
    private async Task<List<(LoadEntry First, LoadEntry Second)>> RaceAsync(
        decimal firstAmount, decimal secondAmount)
    {
        using var barrier = new Barrier(2);
        var ids = Enumerable.Range(0, Rounds).Select(_ => Guid.NewGuid()).ToList();
        var first = RunAsync(System.Api1, firstAmount);
        var second = RunAsync(System.Api2, secondAmount);
        return (await first).Zip(await second).ToList();

        Task<List<LoadEntry>> RunAsync(HttpClient instance, decimal amount) => Task.Factory.StartNew(
            () =>
            {
                var answers = new List<LoadEntry>();
                for (var round = 0; round < Rounds; round++)
                {
                    Assert.True(barrier.SignalAndWait(TimeSpan.FromSeconds(10)));
                    answers.Add(LoadDriver.PostAsync(instance, Ledger, ids[round], amount).GetAwaiter().GetResult());
                }

                return answers;
            },
            CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }
}

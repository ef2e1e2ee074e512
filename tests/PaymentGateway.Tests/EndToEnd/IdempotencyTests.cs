using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The same correlationId again, at any instance, at the same instant too.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class IdempotencyTests(RunningSystem running) : IAsyncLifetime
{
    private const int Rounds = 200;

    private readonly LoadLedger _ledger = new();

    private GatewaySystem System => running.System;

    public Task InitializeAsync() => System.ResetAsync();

    public Task DisposeAsync() => Task.CompletedTask;

    [GatewaySystemFact]
    public async Task The_same_payment_at_both_instances_at_once_is_acknowledged_twice_and_settled_once()
    {
        var answers = await RaceAsync(19.90m, 19.90m);

        Assert.All(answers, pair => Assert.All(
            new[] { pair.First, pair.Second }, answer => Assert.Equal(LoadOutcome.Acknowledged, answer.Outcome)));
        await LedgerCheck.AgreesAsync(System, _ledger);
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
            _ledger.Note(taken);
        }

        await LedgerCheck.AgreesAsync(System, _ledger);
    }

    [GatewaySystemFact]
    public async Task A_settled_payment_is_acknowledged_again_and_another_amount_is_a_conflict()
    {
        var sent = await LoadDriver.PostAsync(System.Api1, _ledger, amount: 19.90m);
        await LedgerCheck.AgreesAsync(System, _ledger);

        var again = await LoadDriver.PostAsync(System.Api2, _ledger, sent.Id, 19.90m);
        using var body = LoadDriver.Body(sent.Id, 19.91m);
        using var request = new HttpRequestMessage(HttpMethod.Post, "payments") { Content = body };
        using var conflict = await System.Client.RefusesAsync(request, 409, "correlationId");

        Assert.Equal(LoadOutcome.Acknowledged, again.Outcome);
        await LedgerCheck.AgreesAsync(System, _ledger);
        Assert.Equal(1, (await System.Default.CallsAsync()).Posts);
    }

    [GatewaySystemFact]
    public async Task A_payment_from_before_a_purge_is_new_after_it()
    {
        var sent = await LoadDriver.PostAsync(System.Api1, _ledger, amount: 19.90m);
        await LedgerCheck.AgreesAsync(System, _ledger);
        await System.ResetAsync();

        var again = await LoadDriver.PostAsync(System.Api2, _ledger, sent.Id, 20.00m);

        Assert.Equal(LoadOutcome.Acknowledged, again.Outcome);
        await LedgerCheck.AgreesAsync(System, _ledger);
        Assert.Equal(1, await System.Database.CountAsync("settlements"));
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
                    answers.Add(LoadDriver.PostAsync(instance, _ledger, ids[round], amount).GetAwaiter().GetResult());
                }

                return answers;
            },
            CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// An answer of PostgreSQL may come in parts, anywhere. Nothing of the gateway waits for the rest of it in a thread
/// that serves sockets: all of them would stand.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PiecemealAnswerTests
{
    // More than the queue holds, so that whole pages come back out of the table.
    private const int Payments = 3_000;

    private const int SplitMin = 20;

    [GatewaySystemFact]
    public async Task PostgreSQL_answers_that_arrive_in_parts_block_nothing()
    {
        await using var system = await GatewaySystem.UpWithRelaysAsync(("Gateway__Intake__QueueCapacity", "1000"));
        system.Relays.Database1.Set(new RelayFault(Splits: true));
        var sent = new LoadLedger();

        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(300));
        await LoadDriver.RunClientsAsync(system.Api1, sent, clients: 64, Payments, TimeSpan.Zero);
        await system.Default.SetDelayAsync(TimeSpan.Zero);

        await LedgerCheck.AgreesAsync(system, sent);
        Assert.All(sent.Entries, entry => Assert.Equal(LoadOutcome.Acknowledged, entry.Outcome));
        // A batch is an answer, and the larger the load the fewer there are.
        Assert.InRange(system.Relays.Database1.Split, SplitMin, int.MaxValue);
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The check of a whole system can fail; LedgerComparisonTests have each thing that it finds.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class LedgerCheckTests(RunningSystem running) : OnRunningSystem(running)
{
    [GatewaySystemFact]
    public async Task The_check_finds_a_payment_that_both_processors_charged_by_itself_and_in_both_summaries()
    {
        var sent = await LoadDriver.PostAsync(System.Client, Ledger);
        await LedgerCheck.AgreesAsync(System, Ledger);
        await System.Fallback.PlantAsync([new ProcessorPayment(sent.Id, sent.Amount, DateTimeOffset.UtcNow)]);

        Assert.Collection(
            await LedgerCheck.CompareAsync(System, Ledger),
            one => Assert.StartsWith("1 charged by several processors", one, StringComparison.Ordinal),
            two => Assert.StartsWith("the summary says", two, StringComparison.Ordinal),
            three => Assert.StartsWith("the summary says", three, StringComparison.Ordinal));
    }

    [GatewaySystemFact]
    public async Task The_check_finds_a_payment_that_nobody_settles_though_nobody_was_told_of_it()
    {
        await System.Default.SetFailureAsync(true);
        await System.Fallback.SetFailureAsync(true);
        Ledger.Note(await LoadDriver.PostAsync(System.Client, Ledger) with { Outcome = LoadOutcome.Unavailable });

        var found = await Assert.ThrowsAnyAsync<Xunit.Sdk.XunitException>(
            () => LedgerCheck.AgreesAsync(System, Ledger, within: TimeSpan.Zero));

        Assert.Contains("\n1 unsettled in the ledger", found.Message, StringComparison.Ordinal);
    }
}

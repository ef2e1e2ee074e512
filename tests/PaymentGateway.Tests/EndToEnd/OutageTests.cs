namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A processor fails while clients post: waiting for default, and the end of the fallback delay.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class OutageTests(RunningSystem running)
{
    private const int Clients = 50;
    private const int Payments = 1_000;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(330);

    [GatewaySystemFact]
    public async Task An_outage_of_5_s_is_waited_out_and_every_payment_is_settled_at_default()
    {
        var system = running.System;
        await system.ResetAsync();
        var ledger = new LoadLedger();

        var load = LoadDriver.RunClientsAsync(system.Client, ledger, Clients, Payments, Pause);
        await Task.Delay(TimeSpan.FromSeconds(1));
        await system.Default.SetFailureAsync(true);
        await Task.Delay(TimeSpan.FromSeconds(5));
        Assert.True(await system.Database.CountUnsettledAsync() > 0);
        await system.Default.SetFailureAsync(false);
        await load;
        await LedgerCheck.AgreesAsync(system, ledger);

        ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(system);
        Assert.Equal(new GatewayTotals(Payments, ledger.Entries.Sum(entry => entry.Amount)), audit.Gateway.Default);
        Assert.Equal(new GatewayTotals(0, 0m), audit.Gateway.Fallback);
        Assert.True(audit.Agrees, $"{audit}");
    }

    [GatewaySystemFact]
    public async Task After_the_fallback_delay_payments_are_settled_at_fallback_and_none_twice()
    {
        await using var system = await GatewaySystem.UpAsync(("Gateway__Routing__FallbackAfter", "3s"));
        var ledger = new LoadLedger();

        var load = LoadDriver.RunClientsAsync(system.Client, ledger, Clients, Payments, Pause);
        await Eventually.HoldsAsync(
            async () => (await system.Default.CallsAsync()).Posts > Payments / 20, "default is charged");
        await system.Default.SetFailureAsync(true);
        var before = ledger.Count;
        await load;
        await LedgerCheck.AgreesAsync(system, ledger);

        ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(system);
        Assert.True(audit.Agrees, $"{audit}");
        Assert.Equal(Payments, audit.Default.TotalRequests + audit.Fallback.TotalRequests);
        // Whatever was sent after the failure is at fallback: the ledger notes a payment before it is sent.
        Assert.True(audit.Default.TotalRequests > 0);
        Assert.InRange(audit.Fallback.TotalRequests, Math.Max(1, Payments - before), Payments);
    }
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// PostgreSQL becomes unavailable and comes back: nobody waits for long, and the gateway recovers by itself.
/// </summary>
[Collection(OneAfterAnother.Name)]
// So long a charge may hang without being repeated.
public sealed class PostgresUnavailableTests() : OwnSystem(
    ("Gateway__Settling__CallTimeout", "60s"), ("Gateway__Settling__InDoubtHorizon", "60s"))
{
    private const string Postgres = "postgres";

    [GatewaySystemTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Payments_get_503_soon_while_PostgreSQL_is_stopped_or_frozen_and_are_accepted_once_it_is_back(
        bool isFrozen)
    {
        await LoadDriver.PostAsync(System.Client, Ledger);
        await LedgerCheck.AgreesAsync(System, Ledger);

        if (isFrozen)
            System.Database.Freeze();
        else
            await System.StopAsync(Postgres);
        await RefusesSoonAsync();
        await AnswersHealthAsync();
        if (isFrozen)
            System.Database.Thaw();
        else
            await System.StartAsync(Postgres);

        await RecoversAsync();
    }

    [GatewaySystemFact]
    public async Task Outcomes_that_could_not_be_written_wait_and_enter_the_ledger_later()
    {
        await System.Default.SetFaultsAsync(new { afterInsert = "hang" });
        // Not all by one instance, which charges 16 at once until the first is answered.
        foreach (var instance in new[] { System.Api1, System.Api2 })
            await LoadDriver.RunClientsAsync(instance, Ledger, clients: 10, payments: 10, TimeSpan.Zero);
        await System.Default.HoldsAsync(20);

        await System.StopAsync(Postgres);
        await System.Default.ClearFaultsAsync();
        await Eventually.HoldsAsync(
            async () => (await System.Default.CallsAsync()).InFlight == 0, "all are answered");
        Assert.Equal(20, (await System.Default.SummariseAsync()).TotalRequests);
        await System.StartAsync(Postgres);
        foreach (var instance in new[] { System.Api1, System.Api2 })
            await Eventually.HoldsAsync(
                async () => (await instance.GetAsync("payments-summary")).IsSuccessStatusCode, "it sums up");
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        Assert.Equal(20, (await System.Default.CallsAsync()).Posts);
    }

    // Several at once, since it is the queue behind a mute database that would make the later ones wait longer.
    private async Task RefusesSoonAsync()
    {
        for (var round = 0; round < 3; round++)
            await Task.WhenAll(Enumerable.Range(0, 5).Select(async _ =>
            {
                using var body = LoadDriver.Body(Guid.NewGuid(), 19.90m);
                using var request = new HttpRequestMessage(HttpMethod.Post, "payments") { Content = body };
                using var answer = await System.Client.RefusesAsync(request, 503);
                Assert.NotNull(answer.Headers.RetryAfter);
            }));
        foreach (var instance in new[] { System.Api1, System.Api2 })
            await Eventually.HoldsAsync(
                async () =>
                {
                    using var ready = await instance.GetAsync("readyz");
                    return ready.StatusCode == HttpStatusCode.ServiceUnavailable;
                },
                "the instance says that it is not ready");
        using var unready = await System.Client.RefusesAsync(new HttpRequestMessage(HttpMethod.Get, "readyz"), 503);
    }

    private async Task AnswersHealthAsync()
    {
        foreach (var instance in new[] { System.Client, System.Api1, System.Api2 })
        {
            using var healthy = await instance.GetAsync("healthz");
            Assert.Equal(HttpStatusCode.OK, healthy.StatusCode);
        }
    }

    // What got 503 may have been stored all the same, as the contract allows; so the ledger begins anew.
    private async Task RecoversAsync()
    {
        foreach (var instance in new[] { System.Api1, System.Api2 })
            await Eventually.HoldsAsync(
                () => Eventually.IsReadyAsync(instance), "the instance is ready again");

        await System.ResetAsync();
        var afterwards = new LoadLedger();
        await LoadDriver.RunClientsAsync(System.Client, afterwards, clients: 5, payments: 50, TimeSpan.Zero);
        afterwards.NoClientSawAnError();
        await LedgerCheck.AgreesAsync(System, afterwards);
    }
}

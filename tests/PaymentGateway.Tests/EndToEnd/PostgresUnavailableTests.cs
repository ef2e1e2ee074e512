namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// PostgreSQL becomes unavailable and comes back: nobody waits for long, and the gateway recovers by itself.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PostgresUnavailableTests(RunningSystem running) : OnRunningSystem(running)
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

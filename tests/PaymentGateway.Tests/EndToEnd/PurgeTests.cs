namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// POST /purge-payments begins a new ledger at every instance, and nothing of the old ones comes back.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PurgeTests(RunningSystem running) : OnRunningSystem(running)
{
    private static readonly GatewaySummary Empty = new(new GatewayTotals(0, 0m), new GatewayTotals(0, 0m));

    // Of a purge to lock its tables: five, of 300 ms each.
    private static readonly TimeSpan AllTries = TimeSpan.FromSeconds(1.5);

    [GatewaySystemFact]
    public async Task Purges_under_load_neither_deadlock_nor_fail_a_client_and_the_last_ledger_is_complete()
    {
        var load = LoadDriver.RunAtRateAsync(System.Client, Ledger, perSecond: 200, TimeSpan.FromSeconds(4));
        for (var i = 0; i < 12; i++)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(250));
            await PurgeAsync(i % 2 == 0 ? System.Api1 : System.Api2);
        }

        await load;
        // The load may have ended before the last purge.
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 5, payments: 50, TimeSpan.Zero);
        await Eventually.HoldsAsync(System.IsIdleAsync, "everything is settled");

        Ledger.NoClientSawAnError();
        var settlements = await System.Database.SettlementsAsync();
        var stored = await System.Default.PaymentsAsync();
        Assert.NotEmpty(settlements);
        Assert.All(settlements, row => Assert.Equal(row.Value.RequestedAt, stored[row.Key].RequestedAt.UtcDateTime));
        var expected = new GatewayTotals(settlements.Count, settlements.Values.Sum(row => row.Amount));
        foreach (var instance in System.RunningInstances())
            Assert.Equal(expected, (await GatewaySummary.AskAsync(instance)).Default);

        await PurgeAsync(System.Api1);
        foreach (var instance in System.RunningInstances())
            Assert.Equal(Empty, await GatewaySummary.AskAsync(instance));
    }

    [GatewaySystemFact]
    public async Task An_instance_that_is_frozen_in_a_purge_blocks_nobody()
    {
        Task<HttpResponseMessage> purge;
        await using (await System.Database.LockPaymentsAsync())
        {
            purge = System.Api2.PostAsync("purge-payments", null);
            await Eventually.HoldsAsync(
                async () =>
                {
                    // It was over before it was seen to wait.
                    if (purge.IsCompleted)
                    {
                        (await purge).Dispose();
                        purge = System.Api2.PostAsync("purge-payments", null);
                    }

                    return await System.Database.CountAsync(
                        "pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted") > 0;
                },
                "the purge waits for its locks");
            GatewaySystemInstance.Signal(System.PidOf(GatewaySystem.Second), GatewaySystemInstance.Stop);
        }

        try
        {
            await LoadDriver.RunClientsAsync(System.Api1, Ledger, clients: 5, payments: 20, TimeSpan.Zero);
            await Eventually.HoldsAsync(
                async () => await System.Database.CountAsync("settlements") == 20, "all are settled");
        }
        finally
        {
            GatewaySystemInstance.Signal(System.PidOf(GatewaySystem.Second), GatewaySystemInstance.Continue);
        }

        Ledger.NoClientSawAnError();
        (await purge).Dispose();
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api2), "the instance has a lease again");
    }

    // The client has gone by then, the other instance purged and took new payments.
    [GatewaySystemTheory]
    [InlineData(0)]
    [InlineData(4)]
    public async Task A_purge_that_lay_in_the_socket_of_a_frozen_instance_deletes_nothing(int secondsFrozen)
    {
        GatewaySystemInstance.Signal(System.PidOf(GatewaySystem.Second), GatewaySystemInstance.Stop);
        try
        {
            using var patience = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => System.Api2.PostAsync("purge-payments", null, patience.Token));
            await LoadDriver.RunClientsAsync(System.Api1, Ledger, clients: 5, payments: 20, TimeSpan.Zero);
            await Task.Delay(TimeSpan.FromSeconds(secondsFrozen));
        }
        finally
        {
            GatewaySystemInstance.Signal(System.PidOf(GatewaySystem.Second), GatewaySystemInstance.Continue);
        }

        // The first one may be refused by an epoch that was closed meanwhile.
        await Eventually.HoldsAsync(
            async () =>
            {
                using var paid = await System.Api2.PostAsJsonAsync(
                    "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });
                return paid.IsSuccessStatusCode;
            },
            "the instance takes payments");
        await Eventually.HoldsAsync(
            async () => await System.Database.CountAsync("settlements") == 21, "all are settled");
        Ledger.NoClientSawAnError();
    }

    private static Task PurgeAsync(HttpClient http) => Eventually.HoldsAsync(
        async () =>
        {
            var waited = Stopwatch.StartNew();
            using var answer = await InTime.EndsAsync(
                TimeSpan.FromSeconds(2), http.PostAsync("purge-payments", null), "a purge");
            // A server process without a processor may have had its locks all that time: it is to be repeated then.
            if (answer.StatusCode == HttpStatusCode.ServiceUnavailable && waited.Elapsed >= AllTries)
                return false;

            answer.EnsureSuccessStatusCode();
            return true;
        },
        "the ledger is purged");
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A purge at an instance that is frozen; the chaos rig purges under load.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class PurgeTests(RunningSystem running) : OnRunningSystem(running)
{
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
                    // The purge was over before it was seen to wait.
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
}

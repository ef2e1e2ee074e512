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
            Posix.Send(System.PidOf(GatewaySystem.Second), Signal.Stop);
        }

        try
        {
            await LoadDriver.RunClientsAsync(System.Api1, Ledger, clients: 5, payments: 20, TimeSpan.Zero);
            await Eventually.HoldsAsync(
                async () => await System.Database.CountAsync("settlements") == 20, "all are settled");
        }
        finally
        {
            Posix.Send(System.PidOf(GatewaySystem.Second), Signal.Continue);
        }

        Ledger.NoClientSawAnError();
        (await purge).Dispose();
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api2), "the instance has a lease again");
    }
}

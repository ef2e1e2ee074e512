namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// POST /purge-payments begins a new ledger at every instance, and nothing of the old ones comes back.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PurgeTests(RunningSystem running) : IAsyncLifetime
{
    private static readonly GatewaySummary Empty = new(new GatewayTotals(0, 0m), new GatewayTotals(0, 0m));

    // Of a purge to lock its tables: five, of 300 ms each.
    private static readonly TimeSpan AllTries = TimeSpan.FromSeconds(1.5);

    private readonly LoadLedger _ledger = new();

    private GatewaySystem System => running.System;

    public Task InitializeAsync() => System.ResetAsync();

    public Task DisposeAsync() => Task.CompletedTask;

    [GatewaySystemFact]
    public async Task The_summary_is_zero_at_once_at_both_instances()
    {
        await LoadDriver.RunClientsAsync(System.Client, _ledger, clients: 10, payments: 100, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(System, _ledger);

        await PurgeAsync(System.Api1);

        Assert.Equal(Empty, await GatewaySummary.AskAsync(System.Api2));
        Assert.Equal(Empty, await GatewaySummary.AskAsync(System.Api1));
    }

    [GatewaySystemFact]
    public async Task Answers_that_arrive_after_a_purge_do_not_enter_the_new_ledger()
    {
        const int Old = 40;
        await System.Default.SetFaultsAsync(new { afterInsert = "hang" });
        await LoadDriver.RunClientsAsync(System.Api1, _ledger, clients: Old / 2, payments: Old / 2, TimeSpan.Zero);
        await LoadDriver.RunClientsAsync(System.Api2, _ledger, clients: Old / 2, payments: Old / 2, TimeSpan.Zero);
        // Two that were overloaded a moment ago may charge no more at once.
        await System.Default.HoldsAsync(8);

        await PurgeAsync(System.Client);
        await System.Default.ClearFaultsAsync();
        await Eventually.HoldsAsync(
            async () => (await System.Default.CallsAsync()).InFlight == 0,
            "every charge of the old ledger is answered");
        // An instance writes its outcomes in turn: when these two are in the ledger, the old ones have been there.
        var renewed = new LoadLedger();
        await LoadDriver.PostAsync(System.Api1, renewed);
        await LoadDriver.PostAsync(System.Api2, renewed);
        await Eventually.HoldsAsync(System.IsIdleAsync, "the new payments are settled");

        var settlements = await System.Database.SettlementsAsync();
        Assert.Equal(renewed.Entries.Select(entry => entry.Id).Order(), settlements.Keys.Order());
        Assert.Equal(2, (await GatewaySummary.AskAsync(System.Client)).Default.TotalRequests);
    }

    [GatewaySystemFact]
    public async Task Purges_under_load_neither_deadlock_nor_fail_a_client_and_the_last_ledger_is_complete()
    {
        var load = LoadDriver.RunAtRateAsync(System.Client, _ledger, perSecond: 200, TimeSpan.FromSeconds(4));
        for (var i = 0; i < 12; i++)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(250));
            await PurgeAsync(i % 2 == 0 ? System.Api1 : System.Api2);
        }

        await load;
        // The load may have ended before the last purge.
        await LoadDriver.RunClientsAsync(System.Client, _ledger, clients: 5, payments: 50, TimeSpan.Zero);
        await Eventually.HoldsAsync(System.IsIdleAsync, "everything is settled");

        _ledger.NoClientSawAnError();
        var settlements = await System.Database.SettlementsAsync();
        var stored = await System.Default.PaymentsAsync();
        Assert.NotEmpty(settlements);
        Assert.All(settlements, row => Assert.Equal(row.Value.RequestedAt, stored[row.Key].RequestedAt.UtcDateTime));
        var expected = new GatewayTotals(settlements.Count, settlements.Values.Sum(row => row.Amount));
        foreach (var instance in System.RunningInstances())
            Assert.Equal(expected, (await GatewaySummary.AskAsync(instance)).Default);
    }

    [GatewaySystemFact]
    public async Task An_instance_that_is_frozen_in_a_purge_blocks_nobody()
    {
        await using var system = await GatewaySystem.UpAsync();
        Task<HttpResponseMessage> purge;
        await using (await system.Database.LockPaymentsAsync())
        {
            purge = system.Api2.PostAsync("purge-payments", null);
            await Eventually.HoldsAsync(
                async () =>
                {
                    // It was over before it was seen to wait.
                    if (purge.IsCompleted)
                    {
                        (await purge).Dispose();
                        purge = system.Api2.PostAsync("purge-payments", null);
                    }

                    return await system.Database.CountAsync(
                        "pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted") > 0;
                },
                "the purge waits for its locks");
            GatewaySystemInstance.Signal(system.PidOf(GatewaySystem.Second), GatewaySystemInstance.Stop);
        }

        try
        {
            await LoadDriver.RunClientsAsync(system.Api1, _ledger, clients: 5, payments: 20, TimeSpan.Zero);
            await Eventually.HoldsAsync(
                async () => await system.Database.CountAsync("settlements") == 20, "all are settled");
        }
        finally
        {
            GatewaySystemInstance.Signal(system.PidOf(GatewaySystem.Second), GatewaySystemInstance.Continue);
        }

        _ledger.NoClientSawAnError();
        (await purge).Dispose();
    }

    // The client has gone by then, the other instance purged and took new payments.
    [GatewaySystemTheory]
    [InlineData(0)]
    [InlineData(4)]
    public async Task A_purge_that_lay_in_the_socket_of_a_frozen_instance_deletes_nothing(int secondsFrozen)
    {
        await using var system = await GatewaySystem.UpAsync();
        GatewaySystemInstance.Signal(system.PidOf(GatewaySystem.Second), GatewaySystemInstance.Stop);
        try
        {
            using var patience = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => system.Api2.PostAsync("purge-payments", null, patience.Token));
            await LoadDriver.RunClientsAsync(system.Api1, _ledger, clients: 5, payments: 20, TimeSpan.Zero);
            await Task.Delay(TimeSpan.FromSeconds(secondsFrozen));
        }
        finally
        {
            GatewaySystemInstance.Signal(system.PidOf(GatewaySystem.Second), GatewaySystemInstance.Continue);
        }

        // The first one may be refused by an epoch that was closed meanwhile.
        await Eventually.HoldsAsync(
            async () =>
            {
                using var paid = await system.Api2.PostAsJsonAsync(
                    "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });
                return paid.IsSuccessStatusCode;
            },
            "the instance takes payments");
        await Eventually.HoldsAsync(
            async () => await system.Database.CountAsync("settlements") == 21, "all are settled");
        _ledger.NoClientSawAnError();
    }

    [GatewaySystemFact]
    public async Task A_set_token_is_needed_for_a_purge_and_for_nothing_else()
    {
        await using var guarded = await GatewaySystem.UpAsync(
            ("TOKEN", "a secret"), ("Logging__LogLevel__Default", "None"),
            ("Logging__Console__LogLevel__Default", "None"));
        await LoadDriver.PostAsync(guarded.Client, _ledger);
        await Eventually.HoldsAsync(guarded.IsIdleAsync, "the payment is settled");

        foreach (var wrong in new[] { null, "", "a secre", "a secret too", "123" })
        {
            using var request = Purge(wrong);
            using var answer = await guarded.Client.RefusesAsync(request, 401, "X-Rinha-Token");
        }

        Assert.Equal(1, (await GatewaySummary.AskAsync(guarded.Client)).Default.TotalRequests);
        using var right = Purge("a secret");
        // nginx replaces it.
        right.Headers.Add("X-Real-IP", "203.0.113.7");
        using var purged = await guarded.Client.SendAsync(right);
        purged.EnsureSuccessStatusCode();
        Assert.Equal(Empty, await GatewaySummary.AskAsync(guarded.Client));
        Assert.Equal(1, await guarded.Database.CountAsync("operator_actions"));
        var log = guarded.ReadLog(GatewaySystem.First) + guarded.ReadLog(GatewaySystem.Second);
        Assert.Contains(
            "PaymentGateway.Audit[7] POST /purge-payments by admin from 127.0.0.1: 200", log, StringComparison.Ordinal);
        Assert.Contains(
            "PaymentGateway.Audit[8] A wrong token from 127.0.0.1 for POST /purge-payments", log,
            StringComparison.Ordinal);
    }

    private static HttpRequestMessage Purge(string? token)
    {
        var request = new HttpRequestMessage(HttpMethod.Post, "purge-payments");
        if (token is not null)
            request.Headers.Add("X-Rinha-Token", token);
        return request;
    }

    private static Task PurgeAsync(HttpClient http) => Eventually.HoldsAsync(
        async () =>
        {
            var waited = Stopwatch.StartNew();
            using var request = Purge(null);
            using var answer = await InTime.EndsAsync(TimeSpan.FromSeconds(2), http.SendAsync(request), "a purge");
            // A server process without a processor may have had its locks all that time: it is to be repeated then.
            if (answer.StatusCode == HttpStatusCode.ServiceUnavailable && waited.Elapsed >= AllTries)
                return false;

            answer.EnsureSuccessStatusCode();
            return true;
        },
        "the ledger is purged");
}

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// A system whose instances take an operator's calls at ports of their own, as `make run` has it; the purge is answered
/// beside the payments as well, because the challenge purges there.
/// </summary>
public sealed class AdminPortTests
{
    [GatewaySystemTheory]
    [InlineData("Everyone")]
    [InlineData("Operator")]
    public async Task Each_instance_answers_an_operator_at_its_port_and_nobody_does_through_nginx(string purger)
    {
        var first = GatewaySystemSettings.TwoFreePorts();
        // What `make run` says where its caller says nothing.
        (string, string)[] given = purger == "Everyone" ? [] : [("Gateway__Admin__Purge", purger)];
        await using var system = await GatewaySystem.UpAsync([("ADMIN_PORT", $"{first}"), .. given]);
        var paid = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Client, paid, clients: 1, payments: 5, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, paid);

        foreach (var port in new[] { first, first + 1 })
        {
            using var admin = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}") };
            Assert.Equal(PaymentViews.NoPayments, await admin.GetStringAsync(PaymentViews.ParkedPath));
            Assert.Contains(
                "payment_gateway_lease_held 1", await admin.GetStringAsync("metrics"), StringComparison.Ordinal);
            Assert.Contains("correlationId", await admin.GetStringAsync("payments"), StringComparison.Ordinal);
        }

        foreach (var client in new[] { system.Client, system.Api1, system.Api2 })
        {
            foreach (var path in new[] { "admin/actions", "metrics", "payments", "ops", "ops/events" })
                Assert.Equal((path, HttpStatusCode.NotFound), (path, await StatusAsync(client.GetAsync(path))));
            foreach (var path in new[] { "admin/reconciliations", "admin/parked/replay", "ops/parked/replay" })
                Assert.Equal((path, HttpStatusCode.NotFound), (path, await StatusAsync(client.PostAsync(path, null))));
        }

        Assert.Equal(5, await system.Database.CountAsync("payments"));
        // A verb says what it can learn where it asks.
        var status = await ProgramRun.RunAsync(
            [GatewaySystemParts.Gateway, "status", "--url", $"{system.Address}"], null, []);
        Assert.Equal(0, status.ExitCode);
        Assert.Contains("an operator's listener", status.Errors, StringComparison.Ordinal);

        var (asked, left) = purger == "Everyone" ? (HttpStatusCode.OK, 0) : (HttpStatusCode.NotFound, 5);
        Assert.Equal(asked, await StatusAsync(system.Client.PostAsync("purge-payments", null)));
        Assert.Equal(left, await system.Database.CountAsync("payments"));
        var log = system.ReadLog(GatewaySystem.First);
        Assert.Equal(purger == "Everyone", log.Contains("Purge is Everyone", StringComparison.Ordinal));

        using var operated = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{first + 1}") };
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(operated.PostAsync("purge-payments", null)));
        Assert.Equal(0, await system.Database.CountAsync("payments"));
    }

    private static async Task<HttpStatusCode> StatusAsync(Task<HttpResponseMessage> asked)
    {
        using var answer = await asked;
        return answer.StatusCode;
    }
}

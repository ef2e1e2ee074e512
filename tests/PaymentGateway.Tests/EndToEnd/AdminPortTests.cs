using System.Net;
using PaymentGateway.Tests.Compose;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A system whose instances take an operator's calls at ports of their own.</summary>
public sealed class AdminPortTests
{
    [GatewaySystemFact]
    public async Task Each_instance_answers_an_operator_at_its_port_and_nobody_does_through_nginx()
    {
        var first = GatewaySystemSettings.TwoFreePorts();
        await using var system = await GatewaySystem.UpAsync(("ADMIN_PORT", $"{first}"));
        var paid = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Client, paid, clients: 1, payments: 5, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, paid);

        foreach (var port in new[] { first, first + 1 })
        {
            using var admin = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}") };
            Assert.Equal("[]", await admin.GetStringAsync("admin/parked"));
            Assert.Contains(
                "payment_gateway_lease_held 1", await admin.GetStringAsync("metrics"), StringComparison.Ordinal);
            Assert.Contains("correlationId", await admin.GetStringAsync("payments"), StringComparison.Ordinal);
        }

        foreach (var client in new[] { system.Client, system.Api1, system.Api2 })
        {
            foreach (var path in new[] { "admin/parked", "metrics", "payments", "admin/logging" })
                Assert.Equal((path, HttpStatusCode.NotFound), (path, await StatusAsync(client.GetAsync(path))));
            Assert.Equal(HttpStatusCode.NotFound, await StatusAsync(client.PostAsync("purge-payments", null)));
        }

        Assert.Equal(5, await system.Database.CountAsync("payments"));
        // A verb says what it can learn where it asks.
        var status = await ProgramRun.RunAsync(
            [GatewaySystemParts.Gateway, "status", "--url", $"{system.Address}"], null, []);
        Assert.Equal(0, status.ExitCode);
        Assert.Contains("an operator's listener", status.Errors, StringComparison.Ordinal);

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

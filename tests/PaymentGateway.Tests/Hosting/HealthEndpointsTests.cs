using Microsoft.Extensions.Hosting;

namespace PaymentGateway.Tests.Hosting;

public sealed class HealthEndpointsTests : OwnRig
{
    [PostgresFact]
    public async Task Without_the_lease_an_instance_answers_and_is_not_ready()
    {
        // The keeper's next renewal would open an epoch.
        var gateway = await Rig.StartGatewayAsync("Leasing:LeaseDuration=5m", "Leasing:RenewInterval=1m");
        Assert.Equal(HttpStatusCode.OK, await gateway.ReadyAsync());

        gateway.Epoch.End();

        using var ready = await gateway.AskAsync("readyz");
        Assert.Equal("503 application/problem+json", Says(ready));
        Assert.NotNull(ready.Headers.RetryAfter);
        using var healthy = await gateway.AskAsync("healthz");
        Assert.Equal(HttpStatusCode.OK, healthy.StatusCode);
    }

    // As a crash of the server leaves its unlogged tables.
    [PostgresFact]
    public async Task After_a_crash_of_the_database_a_ready_instance_says_that_the_ledger_was_reset_until_a_purge()
    {
        var gateway = await Rig.StartGatewayAsync();
        Assert.Equal(("kept", false), await LedgerAsync(gateway));

        await Rig.Database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
        await Eventually.HoldsAsync(
            async () => await LedgerAsync(gateway) == ("reset", true), "it says what happened, and when");
        Assert.Equal(HttpStatusCode.OK, await gateway.PurgeAsync());

        await Eventually.HoldsAsync(async () => await LedgerAsync(gateway) == ("kept", false), "a new ledger began");
    }

    [PostgresFact]
    public async Task From_the_signal_on_a_stopping_instance_is_not_ready_although_it_holds_the_lease()
    {
        var gateway = await Rig.StartGatewayAsync();

        // Only the signal: nothing waits for it here, so nothing is stopped yet.
        gateway.Part<IHostApplicationLifetime>().StopApplication();

        using var ready = await gateway.AskAsync("readyz");
        Assert.True(gateway.Part<Lease>().IsTrusted);
        Assert.Equal("503 application/problem+json", Says(ready));
        Assert.Equal(TimeSpan.FromSeconds(1), ready.Headers.RetryAfter?.Delta);
        var answer = await ReadAnswer.OfAsync(ready);
        Assert.Equal("urn:problem:payment-gateway:draining", $"{answer.Json()["type"]}");
        Assert.Empty(OpenApiDocument.Present["isReady"].FaultsOf(answer));
    }

    private static string Says(HttpResponseMessage answer) =>
        $"{(int)answer.StatusCode} {answer.Content.Headers.ContentType?.MediaType}";

    private static async Task<(string? Ledger, bool HasTime)> LedgerAsync(GatewayHost gateway)
    {
        using var ready = JsonDocument.Parse(await gateway.GetAsync("readyz"));
        return (
            ready.RootElement.GetProperty("ledger").GetString(),
            ready.RootElement.GetProperty("resetAt").ValueKind == JsonValueKind.String);
    }
}

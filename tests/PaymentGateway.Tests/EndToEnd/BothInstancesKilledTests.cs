namespace PaymentGateway.Tests.EndToEnd;

/// <summary>kill -9 of both instances: nginx says so by itself, and goes on with the first that is back.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class BothInstancesKilledTests() : OwnSystem
{
    private static readonly string[] Both = [GatewaySystem.First, GatewaySystem.Second];

    [GatewaySystemTheory]
    [InlineData(GatewaySystem.First)]
    [InlineData(GatewaySystem.Second)]
    public async Task With_both_instances_killed_503_comes_at_once_until_the_first_is_back(string first)
    {
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 5, payments: 50, TimeSpan.Zero);
        foreach (var part in Both)
            await System.KillAsync(part);

        // More than nginx counts before it leaves an instance alone.
        var refused = Enumerable.Range(0, 12).Select(_ => Guid.NewGuid()).ToList();
        foreach (var id in refused)
            await RefusesAsync(HttpMethod.Post, "payments", LoadDriver.Body(id, 1));
        await RefusesAsync(HttpMethod.Get, "payments-summary");
        await RefusesAsync(HttpMethod.Post, "purge-payments");
        await RefusesAsync(HttpMethod.Get, "readyz");

        await System.StartAsync(first);
        var retry = new LoadRetry(Times: 10, TimeSpan.FromSeconds(1));
        foreach (var id in refused)
            await LoadDriver.PostAsync(System.Client, Ledger, id, amount: 1, retry);
        await System.StartAsync(Both.Single(part => part != first));
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 5, payments: 50, TimeSpan.Zero, retry);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Assert.Equal(50 + refused.Count + 50, Ledger.Acknowledged);
        Assert.Equal(Ledger.Count, await System.Database.CountAsync("settlements"));
    }

    private async Task RefusesAsync(HttpMethod method, string path, HttpContent? body = null)
    {
        using var request = new HttpRequestMessage(method, path) { Content = body };
        using var answer = await System.Client.RefusesAsync(request, 503);
        Assert.Equal(TimeSpan.FromSeconds(1), answer.Headers.RetryAfter?.Delta);
    }
}

using System.Diagnostics;
using System.Net;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// PostgreSQL becomes unavailable and comes back: nobody waits for long, and the gateway recovers by itself.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PostgresUnavailableTests(ITestOutputHelper output) : IAsyncLifetime
{
    private const string Postgres = "postgres";

    private readonly LoadLedger _ledger = new();
    private GatewaySystem _system = null!;

    // So long a charge may hang without being repeated.
    public async Task InitializeAsync() =>
        _system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__CallTimeout", "60s"), ("Gateway__Settling__InDoubtHorizon", "60s"));

    public async Task DisposeAsync() => await _system.DisposeAsync();

    [GatewaySystemFact]
    public async Task With_PostgreSQL_stopped_payments_get_503_soon_and_it_recovers_by_itself()
    {
        await LoadDriver.PostAsync(_system.Client, _ledger);
        await LedgerCheck.AgreesAsync(_system, _ledger);

        await _system.StopAsync(Postgres);
        await RefusesSoonAsync();
        await AnswersHealthAsync();
        await _system.StartAsync(Postgres);

        await RecoversAsync();
    }

    [GatewaySystemFact]
    public async Task With_PostgreSQL_frozen_payments_get_503_soon_and_it_recovers_by_itself()
    {
        await LoadDriver.PostAsync(_system.Client, _ledger);
        await LedgerCheck.AgreesAsync(_system, _ledger);

        _system.Database.Freeze();
        await RefusesSoonAsync();
        await AnswersHealthAsync();
        _system.Database.Thaw();

        await RecoversAsync();
    }

    [GatewaySystemFact]
    public async Task A_summary_that_PostgreSQL_does_not_answer_ends_with_a_problem()
    {
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            await GatewaySummary.AskAsync(instance);

        _system.Database.Freeze();
        var waited = Stopwatch.StartNew();
        using var answer = await _system.Client.GetAsync("payments-summary");
        _system.Database.Thaw();

        output.WriteLine($"answered after {waited.Elapsed.TotalSeconds:0.00} s; the audit waits 1.5 s");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        Assert.Contains("Ledger unavailable", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public async Task Outcomes_that_could_not_be_written_wait_and_enter_the_ledger_later()
    {
        await _system.Default.SetFaultsAsync(new { afterInsert = "hang" });
        // Not all by one instance, which charges 16 at once until the first is answered.
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            await LoadDriver.RunClientsAsync(instance, _ledger, clients: 10, payments: 10, TimeSpan.Zero);
        await _system.Default.HoldsAsync(20);

        await _system.StopAsync(Postgres);
        await _system.Default.ClearFaultsAsync();
        await Eventually.HoldsAsync(
            async () => (await _system.Default.CallsAsync()).InFlight == 0, "all are answered");
        Assert.Equal(20, (await _system.Default.SummariseAsync()).TotalRequests);
        await _system.StartAsync(Postgres);
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            await Eventually.HoldsAsync(
                async () => (await instance.GetAsync("payments-summary")).IsSuccessStatusCode, "it sums up");
        await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        Assert.Equal(20, (await _system.Default.CallsAsync()).Posts);
    }

    [GatewaySystemFact]
    public async Task A_clean_restart_of_PostgreSQL_under_load_loses_nothing()
    {
        var retry = new LoadRetry(Times: 40, TimeSpan.FromMilliseconds(250));
        var load = LoadDriver.RunAtRateAsync(_system.Client, _ledger, perSecond: 100, TimeSpan.FromSeconds(4), retry);
        await Task.Delay(TimeSpan.FromSeconds(1.5));
        await _system.StopAsync(Postgres);
        await Task.Delay(TimeSpan.FromSeconds(0.5));
        await _system.StartAsync(Postgres);
        await load;

        Assert.Equal(_ledger.Count, _ledger.Acknowledged);
        await LedgerCheck.AgreesAsync(_system, _ledger);
    }

    // Several at once, since it is the queue behind a mute database that would make the later ones wait longer.
    private async Task RefusesSoonAsync()
    {
        for (var round = 0; round < 3; round++)
            await Task.WhenAll(Enumerable.Range(0, 5).Select(async _ =>
            {
                using var body = LoadDriver.Body(Guid.NewGuid(), 19.90m);
                using var request = new HttpRequestMessage(HttpMethod.Post, "payments") { Content = body };
                using var answer = await _system.Client.RefusesAsync(request, 503);
                Assert.NotNull(answer.Headers.RetryAfter);
            }));
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            await Eventually.HoldsAsync(
                async () =>
                {
                    using var ready = await instance.GetAsync("readyz");
                    return ready.StatusCode == HttpStatusCode.ServiceUnavailable;
                },
                "the instance says that it is not ready");
        using var unready = await _system.Client.RefusesAsync(new HttpRequestMessage(HttpMethod.Get, "readyz"), 503);
    }

    private async Task AnswersHealthAsync()
    {
        foreach (var instance in new[] { _system.Client, _system.Api1, _system.Api2 })
        {
            using var healthy = await instance.GetAsync("healthz");
            Assert.Equal(HttpStatusCode.OK, healthy.StatusCode);
        }
    }

    // What got 503 may have been stored all the same, as the contract allows; so the ledger begins anew.
    private async Task RecoversAsync()
    {
        var waited = Stopwatch.StartNew();
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            await Eventually.HoldsAsync(
                async () => (await instance.GetAsync("readyz")).IsSuccessStatusCode, "the instance is ready again");
        output.WriteLine($"ready again after {waited.Elapsed.TotalSeconds:0.00} s");

        await _system.ResetAsync();
        var afterwards = new LoadLedger();
        await LoadDriver.RunClientsAsync(_system.Client, afterwards, clients: 5, payments: 50, TimeSpan.Zero);
        afterwards.NoClientSawAnError();
        await LedgerCheck.AgreesAsync(_system, afterwards);
    }
}

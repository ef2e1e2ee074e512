using System.Diagnostics;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>SIGTERM: what is in flight is finished or handed over; exit code 0 within the grace period.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class StoppedInstanceTests(ITestOutputHelper output) : IAsyncLifetime
{
    // The drain's 2 s as set below, the host's margin of 5 s.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(7);

    private readonly LoadLedger _ledger = new();
    private GatewaySystem _system = null!;
    private GatewaySystemInstance _stopped = null!;

    public async Task InitializeAsync()
    {
        // A horizon that no test would wait out: what is handed over cleanly needs none.
        _system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__InDoubtHorizon", "5m"), ("Gateway__Settling__DrainTimeout", "2s"));
        // The one that nginx prefers at light load.
        await _system.StopAsync(GatewaySystem.First);
        _stopped = _system.StartChild(GatewaySystem.First);
        await Eventually.HoldsAsync(IsReadyAsync, "the first instance is ready");
    }

    public async Task DisposeAsync()
    {
        await _stopped.DisposeAsync();
        await _system.DisposeAsync();
    }

    [GatewaySystemFact]
    public async Task SIGTERM_under_load_loses_nothing_and_no_client_sees_it()
    {
        await _system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(50));

        var stop = StopUnderLoadAsync();
        await LoadDriver.RunAtRateAsync(_system.Client, _ledger, perSecond: 200, until: stop);
        var took = await stop;
        await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        output.WriteLine($"ended after {took.TotalSeconds:0.00} s, p99 {_ledger.P99Ms} ms");
    }

    [GatewaySystemFact]
    public async Task A_stopped_instance_hands_over_unsent_payments_and_the_other_settles_them_without_the_horizon()
    {
        await _system.Default.SetFailureAsync(true);
        await _system.Fallback.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(_system.Api1, _ledger, clients: 20, payments: 400, TimeSpan.Zero);
        Assert.Equal(400, await _system.Database.CountUnsettledAsync());

        var took = await StopAsync();
        await _system.Default.SetFailureAsync(false);
        await _system.Fallback.SetFailureAsync(false);
        var drained = await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        Assert.Equal(400, await _system.Database.CountAsync($"payments WHERE handover = {PaymentStates.Sql.Unsent}"));
        output.WriteLine($"ended after {took.TotalSeconds:0.00} s, drained {drained.TotalSeconds:0.00} s later");
    }

    [GatewaySystemFact]
    public async Task A_charge_that_outlasts_the_drain_is_handed_over_in_doubt_and_settled_once()
    {
        await _system.Default.SetDelayAsync(TimeSpan.FromSeconds(4));
        await LoadDriver.RunClientsAsync(_system.Api1, _ledger, clients: 10, payments: 10, TimeSpan.Zero);
        await Eventually.HoldsAsync(
            async () => (await _system.Default.CallsAsync()).InFlight > 0, "charges are in flight at default");

        var took = await StopAsync();
        await LedgerCheck.AgreesAsync(_system, _ledger);

        Assert.True(await _system.Database.CountAsync($"payments WHERE handover >= {PaymentStates.Sql.InDoubt}") > 0);
        output.WriteLine($"ended after {took.TotalSeconds:0.00} s");
    }

    private async Task<TimeSpan> StopUnderLoadAsync()
    {
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
        var took = await StopAsync();
        await _system.Database.CarriesLoadAsync(GatewaySystem.Second);
        return took;
    }

    private async Task<TimeSpan> StopAsync()
    {
        var waited = Stopwatch.StartNew();
        _stopped.Signal(GatewaySystemInstance.Terminate);
        var (exitCode, text, errors) = await InTime.EndsAsync(
            Grace, _stopped.EndAsync(TimeSpan.FromMinutes(1)), "a stop");
        Assert.True(exitCode == 0, $"exit code {exitCode}: {text}{errors}");
        return waited.Elapsed;
    }

    private async Task<bool> IsReadyAsync()
    {
        try
        {
            using var answer = await _system.Api1.GetAsync("readyz");
            return answer.IsSuccessStatusCode;
        }
        catch (HttpRequestException)
        {
            return false; // Its socket is not there yet.
        }
    }
}

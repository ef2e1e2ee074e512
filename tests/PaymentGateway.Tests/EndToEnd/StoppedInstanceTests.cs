namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class StoppedInstanceTests(StoppedInstanceTests.LongHorizonSystem longHorizon)
    : OnRunningSystem(longHorizon), IClassFixture<StoppedInstanceTests.LongHorizonSystem>
{
    // The drain's 2 s as set below, the host's margin of 5 s.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(7);

    private GatewaySystemInstance _stopped = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        // The one that nginx prefers at light load.
        await System.StopAsync(GatewaySystem.First);
        _stopped = System.StartChild(GatewaySystem.First);
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api1), "the first instance is ready");
    }

    public override async Task DisposeAsync()
    {
        await _stopped.DisposeAsync();
        await base.DisposeAsync();
    }

    [GatewaySystemFact]
    public Task SIGTERM_under_load_loses_nothing_and_no_client_sees_it() => LoseNothingAsync(Signal.Terminate);

    // It comes when a terminal is closed, and from operators who expect a service to read its settings again.
    [GatewaySystemFact]
    public Task SIGHUP_under_load_loses_nothing_and_no_client_sees_it() => LoseNothingAsync(Signal.Hangup);

    [GatewaySystemFact]
    public async Task A_charge_that_outlasts_the_drain_is_handed_over_in_doubt_and_settled_once()
    {
        // A delay shows in the answers of health calls: the next one could send all payments to fallback.
        await System.Default.SetFaultsAsync(new { afterInsert = "hang" });
        await LoadDriver.RunClientsAsync(System.Api1, Ledger, clients: 10, payments: 10, TimeSpan.Zero);
        await System.Default.HoldsAsync(1);

        await StopAsync();
        await System.Default.ClearFaultsAsync();
        await LedgerCheck.AgreesAsync(System, Ledger);

        Assert.True(await System.Database.CountAsync("payments WHERE may_be_at > 0") > 0);
    }

    private async Task LoseNothingAsync(Signal signal)
    {
        await System.Default.SetDelayAsync(TimeSpan.FromMilliseconds(50));

        var stop = StopUnderLoadAsync(signal);
        await LoadDriver.RunAtRateAsync(System.Client, Ledger, perSecond: 200, until: stop);
        await stop;
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
    }

    private async Task StopUnderLoadAsync(Signal signal)
    {
        await System.Database.CarriesLoadAsync(GatewaySystem.First);
        await StopAsync(signal);
        await System.Database.CarriesLoadAsync(GatewaySystem.Second);
    }

    private async Task StopAsync(Signal signal = Signal.Terminate)
    {
        _stopped.Send(signal);
        var (exitCode, text, errors) = await InTime.EndsAsync(
            Grace, _stopped.EndAsync(TimeSpan.FromMinutes(1)), "a stop");
        Assert.True(exitCode == 0, $"exit code {exitCode}: {text}{errors}");
    }

    /// <summary>A horizon that no test would wait out: what is handed over cleanly needs none.</summary>
    public sealed class LongHorizonSystem : RunningSystem
    {
        protected override (string Name, string Value)[] Settings =>
            [("Gateway__Settling__InDoubtHorizon", "5m"), ("Gateway__Settling__DrainTimeout", "2s")];
    }
}

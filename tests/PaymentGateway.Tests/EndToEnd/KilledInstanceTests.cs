using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>kill -9 of an instance under load: acknowledged means stored, and nobody is charged twice.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class KilledInstanceTests(ITestOutputHelper output) : IAsyncLifetime
{
    private const int PerSecond = 150;
    private const string HandedOver = $"payments WHERE handover >= {PaymentStates.Sql.InDoubt}";

    private readonly LoadLedger _ledger = new();
    private GatewaySystem _system = null!;

    public async Task InitializeAsync()
    {
        _system = await GatewaySystem.UpAsync(("Gateway__Settling__CallTimeout", "3s"),
            ("Gateway__Settling__InDoubtHorizon", "3s"));
        // So that there always are charges in flight when the instance dies.
        await _system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(150));
    }

    public async Task DisposeAsync() => await _system.DisposeAsync();

    [GatewaySystemFact]
    public async Task A_killed_instance_loses_nothing_and_settles_the_rest_after_its_restart()
    {
        await LoadUntilAsync(KillAndRestartAsync());
        var drained = await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        await ReportAsync(drained);
    }

    [GatewaySystemFact]
    public async Task The_other_instance_alone_settles_the_payments_of_a_killed_one()
    {
        await LoadUntilAsync(KillAsync());
        var drained = await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        await ReportAsync(drained);
    }

    [GatewaySystemFact]
    public async Task Kills_of_both_instances_in_turn_lose_nothing()
    {
        await LoadUntilAsync(KillInTurnAsync());
        var drained = await LedgerCheck.AgreesAsync(_system, _ledger);

        _ledger.NoClientSawAnError();
        await ReportAsync(drained);
    }

    [GatewaySystemFact]
    public async Task An_instance_that_is_frozen_and_continued_charges_nobody_twice()
    {
        // What it was asked while it was frozen it may refuse when it goes on; the client asks again.
        var retry = new LoadRetry(Times: 10, TimeSpan.FromMilliseconds(200));
        var load = LoadDriver.RunAtRateAsync(_system.Client, _ledger, PerSecond, TimeSpan.FromSeconds(7), retry);
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
        GatewaySystemInstance.Signal(_system.PidOf(GatewaySystem.First), GatewaySystemInstance.Stop);
        await Task.Delay(TimeSpan.FromSeconds(8));
        GatewaySystemInstance.Signal(_system.PidOf(GatewaySystem.First), GatewaySystemInstance.Continue);
        await load;
        var drained = await LedgerCheck.AgreesAsync(_system, _ledger);

        Assert.Equal(_ledger.Count, _ledger.Acknowledged);
        await ReportAsync(drained);
    }

    // Kestrel counts its limits from its last beat, so to a request that it reads before the next one the whole frozen
    // time is charged. Many come, so that some of them are read before it.
    [GatewaySystemFact]
    public async Task Requests_that_come_while_an_instance_is_frozen_are_answered_and_not_timed_out()
    {
        var connections = new List<RawConnection>();
        while (connections.Count < 300)
            connections.Add(await RawConnection.ToInstanceAsync(_system, GatewaySystem.First));
        using (var answer = await _system.Api1.GetAsync("healthz"))
            Assert.True(answer.IsSuccessStatusCode, "it has taken all that came before");
        GatewaySystemInstance.Signal(_system.PidOf(GatewaySystem.First), GatewaySystemInstance.Stop);
        // First halves are there when the instance goes on, second halves come after some beats.
        var answers = connections.ConvertAll(connection => connection.DribbleAsync(
            ["GET /healthz HTTP/1.1\r\n", "Host: gateway\r\nConnection: close\r\n\r\n"],
            TimeSpan.FromSeconds(12), TimeSpan.FromSeconds(40)));
        await Task.Delay(TimeSpan.FromSeconds(9));
        GatewaySystemInstance.Signal(_system.PidOf(GatewaySystem.First), GatewaySystemInstance.Continue);

        Assert.All(await Task.WhenAll(answers), one => Assert.Equal([200], one.Statuses));
        connections.ForEach(connection => connection.Dispose());
    }

    private async Task LoadUntilAsync(Task kills)
    {
        await LoadDriver.RunAtRateAsync(_system.Client, _ledger, PerSecond, until: kills);
        await kills;
    }

    private async Task KillAsync()
    {
        await ChargesAreInFlightAsync();
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
        await _system.KillAsync(GatewaySystem.First);
        await _system.Database.CarriesLoadAsync(GatewaySystem.Second);
    }

    private async Task KillAndRestartAsync()
    {
        await KillAsync();
        await Task.Delay(TimeSpan.FromSeconds(1));
        await _system.StartAsync(GatewaySystem.First);
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
    }

    private async Task KillInTurnAsync()
    {
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
        await _system.KillAsync(GatewaySystem.First);
        // Alone it has the load, and dies as soon as the other one is back.
        await _system.Database.CarriesLoadAsync(GatewaySystem.Second);
        await _system.StartAsync(GatewaySystem.First);
        await _system.KillAsync(GatewaySystem.Second);
        await _system.StartAsync(GatewaySystem.Second);
        await _system.Database.CarriesLoadAsync(GatewaySystem.First);
        await _system.KillAsync(GatewaySystem.First);
        await _system.StartAsync(GatewaySystem.First);
    }

    private Task ChargesAreInFlightAsync() => Eventually.HoldsAsync(
        async () => _ledger.Acknowledged > PerSecond && (await _system.Default.CallsAsync()).InFlight > 0,
        "charges are in flight");

    // Without a single payment handed over in doubt the test would have shown nothing.
    private async Task ReportAsync(TimeSpan drained)
    {
        var handedOver = await _system.Database.CountAsync(HandedOver);
        Assert.True(handedOver > 0, "nothing was in flight at the instance that died");
        output.WriteLine($"{_ledger.Acknowledged} acknowledged, {handedOver} adopted in doubt, drained in "
            + $"{drained.TotalSeconds:0.0} s, p99 {_ledger.P99Ms} ms");
    }
}

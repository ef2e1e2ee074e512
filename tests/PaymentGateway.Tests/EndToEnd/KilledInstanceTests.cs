namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class KilledInstanceTests(KilledInstanceTests.ShortHorizonSystem shortHorizon)
    : OnRunningSystem(shortHorizon), IClassFixture<KilledInstanceTests.ShortHorizonSystem>
{
    private const int PerSecond = 150;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        // So that there always are charges in flight when the instance dies.
        await System.Default.SetDelayAsync(TimeSpan.FromMilliseconds(150));
    }

    [GatewaySystemFact]
    public async Task Payments_of_killed_instances_are_settled_once_by_the_other_one_and_after_a_restart()
    {
        var killing = KillInTurnAsync();
        await LoadDriver.RunAtRateAsync(System.Client, Ledger, PerSecond, until: killing);
        await killing;

        await LedgerCheck.AgreesAsync(System, Ledger);
        Ledger.NoClientSawAnError();
        Assert.True(
            await System.Database.CountAsync("payments WHERE may_be_at > 0") > 0,
            "nothing was in flight at an instance that died, so the test has shown nothing");
    }

    // Kestrel counts its limits from its last beat, so to a request that it reads before the next one the whole frozen
    // time is charged. Many come, so that some of them are read before it.
    [GatewaySystemFact]
    public async Task Requests_that_come_while_an_instance_is_frozen_are_answered_and_not_timed_out()
    {
        var connections = new List<RawConnection>();
        while (connections.Count < 300)
            connections.Add(await RawConnection.ToInstanceAsync(System, GatewaySystem.First));
        using (var answer = await System.Api1.GetAsync("healthz"))
            Assert.True(answer.IsSuccessStatusCode, "it has taken all that came before");
        Posix.Send(System.PidOf(GatewaySystem.First), Signal.Stop);
        // First halves are there when the instance goes on, second halves come after some beats.
        var answers = connections.ConvertAll(connection => connection.DribbleAsync(
            ["GET /healthz HTTP/1.1\r\n", "Host: gateway\r\nConnection: close\r\n\r\n"],
            TimeSpan.FromSeconds(12), TimeSpan.FromSeconds(40)));
        await Task.Delay(TimeSpan.FromSeconds(9));
        Posix.Send(System.PidOf(GatewaySystem.First), Signal.Continue);

        Assert.All(await Task.WhenAll(answers), one => Assert.Equal([200], one.Statuses));
        connections.ForEach(connection => connection.Dispose());
    }

    [GatewaySystemTheory]
    [InlineData(GatewaySystem.First)]
    [InlineData(GatewaySystem.Second)]
    public async Task With_both_instances_killed_503_comes_at_once_until_the_first_is_back(string first)
    {
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 5, payments: 50, TimeSpan.Zero);
        await System.KillAsync(GatewaySystem.First);
        await System.KillAsync(GatewaySystem.Second);

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
        await System.StartAsync(first == GatewaySystem.First ? GatewaySystem.Second : GatewaySystem.First);
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 5, payments: 50, TimeSpan.Zero, retry);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Assert.Equal(50 + refused.Count + 50, Ledger.Acknowledged);
        Assert.Equal(Ledger.Count, await System.Database.CountAsync("settlements"));
    }

    private async Task KillInTurnAsync()
    {
        await Eventually.HoldsAsync(
            async () => Ledger.Acknowledged > PerSecond && (await System.Default.CallsAsync()).InFlight > 0,
            "charges are in flight");
        await System.Database.CarriesLoadAsync(GatewaySystem.First);
        await System.KillAsync(GatewaySystem.First);
        // Alone it has the load, and dies as soon as the other one is back.
        await System.Database.CarriesLoadAsync(GatewaySystem.Second);
        await System.StartAsync(GatewaySystem.First);
        await System.KillAsync(GatewaySystem.Second);
        await System.StartAsync(GatewaySystem.Second);
        await System.Database.CarriesLoadAsync(GatewaySystem.First);
        await System.KillAsync(GatewaySystem.First);
        await System.StartAsync(GatewaySystem.First);
    }

    private async Task RefusesAsync(HttpMethod method, string path, HttpContent? body = null)
    {
        using var request = new HttpRequestMessage(method, path) { Content = body };
        using var answer = await System.Client.RefusesAsync(request, 503);
        Assert.Equal(TimeSpan.FromSeconds(1), answer.Headers.RetryAfter?.Delta);
    }

    public sealed class ShortHorizonSystem : RunningSystem
    {
        protected override (string Name, string Value)[] Settings =>
            [("Gateway__Settling__CallTimeout", "3s"), ("Gateway__Settling__InDoubtHorizon", "3s")];
    }
}

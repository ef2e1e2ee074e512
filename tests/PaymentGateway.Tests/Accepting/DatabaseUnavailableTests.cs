using Microsoft.Extensions.Hosting;
using PaymentGateway.Operator.Webhooks;

namespace PaymentGateway.Tests.Accepting;

public sealed class DatabaseUnavailableTests : OwnRig
{
    // The contract of the intake.
    private static readonly TimeSpan AnswerMax = TimeSpan.FromSeconds(2);

    private readonly OwnServerDatabase _database = new();

    private protected override TestDatabase NewDatabase() => _database;

    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_stopped_or_frozen_database_is_reported_in_time_and_used_again_when_it_is_back(bool isFrozen)
    {
        var gateway = await Rig.StartGatewayAsync();
        await gateway.PayAsync();
        if (isFrozen)
            _database.Server.Freeze();
        else
            await _database.Server.StopAsync();
        List<HttpStatusCode> answers;
        try
        {
            answers = await PayForAsync(gateway, TimeSpan.FromSeconds(isFrozen ? 8 : 3));
            await Eventually.HoldsAsync(
                async () => await gateway.ReadyAsync() == HttpStatusCode.ServiceUnavailable, "it is not ready");
        }
        finally
        {
            if (isFrozen)
                _database.Server.Thaw();
            else
                await _database.StartAgainAsync();
        }

        Assert.All(answers, answer => Assert.Equal(HttpStatusCode.ServiceUnavailable, answer));
        await RecoversAsync(gateway);
        if (isFrozen)
            await Eventually.HoldsAsync(
                async () => await Rig.CountSettledAsync() > 2, "what was on its way was stored after the thaw");
    }

    // 7.5 s: after our own limits of a statement, and while Npgsql still waits for the end of what it cancelled.
    [PostgresFact]
    public async Task Backends_that_continue_just_after_their_statements_were_abandoned_block_nobody_for_good()
    {
        var gateway = await Rig.StartGatewayAsync();
        await gateway.PayAsync();
        // Committed is not answered: until then the connection is the writer's, and acceptances take another one.
        await Rig.LedgersReachAsync(byDefault: 1);
        await Eventually.HoldsAsync(() => gateway.Part<UnwrittenOutcomes>().Count == 0, "its outcome is written");
        var backends = await _database.ScalarAsync<int[]>("""
            SELECT array_agg(pid) FROM pg_stat_activity
            WHERE query LIKE 'INSERT INTO payments%' OR query LIKE 'WITH locked_first%'
            """);
        Assert.NotEmpty(backends);
        List<HttpStatusCode> answers = [];
        await PostgresServer.FrozenAsync(backends, async () =>
            answers = await PayForAsync(gateway, TimeSpan.FromSeconds(7.5), inTime: false));

        Assert.Contains(HttpStatusCode.ServiceUnavailable, answers);
        await RecoversAsync(gateway);
    }

    [PostgresFact]
    public async Task Webhooks_end_without_an_error_when_an_instance_stops_at_a_frozen_database()
    {
        var gateway = await Rig.StartGatewayAsync(
            "Webhooks:shop:Url=http://127.0.0.1:1/", "Webhooks:shop:AllowPrivate=true", "Webhooks:shop:AllowHttp=true",
            "Webhooks:shop:Secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        await Eventually.HoldsAsync(
            async () => await _database.ScalarAsync<long>("SELECT count(position) FROM webhooks") == 1, "it is held");
        var worker = gateway.Part<IEnumerable<IHostedService>>().OfType<WebhookWorker>().Single();
        _database.Server.Freeze();
        try
        {
            await worker.StopAsync(default);
        }
        finally
        {
            _database.Server.Thaw();
        }

        Assert.False(worker.ExecuteTask!.IsFaulted);
    }

    private async Task RecoversAsync(GatewayHost gateway)
    {
        await Eventually.HoldsAsync(
            async () => await gateway.PayAsync(Guid.NewGuid()) == HttpStatusCode.Accepted, "it takes payments again");
        await Eventually.HoldsAsync(
            async () => await Rig.CountSettledAsync() == await Rig.CountStoredAsync(),
            "everything that was stored is settled");
        await Rig.AssertLedgersAgreeAsync();
    }

    // One every 50 ms, whatever became of those before it: each meets the outage at another moment.
    private static async Task<List<HttpStatusCode>> PayForAsync(
        GatewayHost gateway, TimeSpan duration, bool inTime = true)
    {
        var answers = new ConcurrentBag<HttpStatusCode>();
        var calls = new List<Task>();
        using var next = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
        for (var outage = Stopwatch.StartNew(); outage.Elapsed < duration; await next.WaitForNextTickAsync())
            calls.Add(CallAsync());
        await Task.WhenAll(calls);
        return [.. answers];

        async Task CallAsync()
        {
            var call = gateway.PayAsync(Guid.NewGuid());
            answers.Add(await (inTime ? InTime.EndsAsync(AnswerMax, call, "an answer") : call));
        }
    }
}
